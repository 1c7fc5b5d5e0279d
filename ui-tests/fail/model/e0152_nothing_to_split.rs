//! Ops that sum over the inputs of no weight: their values are complete on every rank, whatever `shard` says.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size }

        embedding(model.embed_tokens: [V, H], shard = row) -> all_reduce
        -> rmsnorm(model.norm: [H], eps = cfg.rms_norm_eps, shard = row)
        -> all_reduce;
    }
}

fn main() {}
