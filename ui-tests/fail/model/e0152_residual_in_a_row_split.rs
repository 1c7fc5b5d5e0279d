//! The residual is complete, the product is partial: the fused op would add the residual once per rank.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size }

        let x = embedding(model.embed_tokens: [V, H]);
        x -> linear_v3(mlp.{gate_proj, up_proj}: [I, H], shard = column)
        -> silu_mul
        -> linear_residual(mlp.down_proj: [H, I], r = x, shard = row)
        -> all_reduce
        -> rmsnorm(model.norm: [H], eps = cfg.rms_norm_eps);
    }
}

fn main() {}
