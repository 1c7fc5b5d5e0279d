//! A `,` or `;` that is forgotten hides nothing of what follows, and no import is unused because of it.

#[path = "../../model_ops.rs"]
mod ops;

use ops::{Config, add, all_reduce, argmax, embedding, linear_v3, rmsnorm, silu_mul};

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = cfg.hidden_size, I = intermediate_size V = vocab_size, Q = 2 * (cfg.head_dim + H) }

        embedding(model.embed_tokens: [V, H])
        layer model.layers[i in 0..cfg.num_hidden_layers] {
            let x = rmsnorm(input_layernorm: [H], eps = cfg.rms_norm_eps)
            residual {
                rmsnorm(post_attention_layernorm: [H] eps = cfg.rms_norm_eps)
                -> linear_v3(mlp.{gate_proj, up_proj}: [I, H], shard = column, y = fp8)
                -> silu_mul
                -> linear_v3(mlp.down_proj: [H, II], shard = row, y = f32)
                -> all_reduce
            }
            linear_v3(self_attn.o_proj: [H, H], y = f23, r = hidden) -> 3 -> all_reduce;
        }
        rmsnorm(model.norm: [H] [I], eps = cfg.rms_norm_eps)
        -> linear_v3(tied(lm_head, model.embed_tokens): [cfg.vocab_size, H], shard = column, y = f32)
        -> argmax;
    }
}

fn main() {}
