//! The output of a row-sharded op is partial: the norm would go on with the summand of one rank.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, Q = num_attention_heads * head_dim }

        embedding(model.embed_tokens: [V, H])
        -> linear_v3(mlp.{gate_proj, up_proj}: [I, H], shard = column)
        -> silu_mul
        -> linear_v3(mlp.down_proj: [H, I], shard = row, y = f32)
        -> rmsnorm(model.norm: [H], eps = cfg.rms_norm_eps);
    }
}

fn main() {}
