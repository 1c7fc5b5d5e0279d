//! The residual is complete, the block is partial: each rank would add the residual.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, Q = num_attention_heads * head_dim }

        embedding(model.embed_tokens: [V, H]);
        layer layers[i in 0..cfg.num_hidden_layers] {
            residual {
                linear_v3(mlp.{gate_proj, up_proj}: [I, H], shard = column)
                -> silu_mul
                -> linear_v3(mlp.down_proj: [H, I], shard = row, y = f32)
            }
            all_reduce
        }
        rmsnorm(model.norm: [H], eps = cfg.rms_norm_eps);
    }
}

fn main() {}
