//! Errors that have nothing to do with each other are reported in one run.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, Q = num_attention_heads * head_dim }

        embedding(model.embed_tokens: [V, H]);
        residual { rmsnorm(norm: [Q], eps = cfg.rms_norm_eps) -> linear_v3(a: [H, H]) }
        -> linear_v3(b: [I, H], shard = column) -> linear_v3(c: [H, I], shard = row, y = f32) -> rmsnorm(end: [H]);
    }
}

fn main() {}
