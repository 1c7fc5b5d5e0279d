//! Qwen3 dense decoder, 0.6B to 32B.

use mpk_runtime::model;
use mpk_tasks::{add, all_reduce, argmax, embedding, linear_v3, paged_attention, rmsnorm, silu_mul};

use crate::DenseConfig;

model! {
    /// Qwen3 dense decoder, 0.6B to 32B.
    pub model Qwen3(cfg: DenseConfig) {
        dims {
            H = hidden_size, I = intermediate_size, V = vocab_size, D = head_dim,
            Q = num_attention_heads * head_dim, KV = num_key_value_heads * head_dim
        }

        embedding(model.embed_tokens: [V, H]);

        layer model.layers[i in 0..cfg.num_hidden_layers] {
            residual {
                rmsnorm(input_layernorm: [H], eps = cfg.rms_norm_eps)
                -> linear_v3(self_attn.{q_proj: [Q, H], k_proj: [KV, H], v_proj: [KV, H]}, bias = cfg.attention_bias, shard = column)
                -> paged_attention(q_norm = self_attn.q_norm: [D], k_norm = self_attn.k_norm: [D],
                                   head_dim = cfg.head_dim, rope = cfg.rope(), eps = cfg.rms_norm_eps)
                -> linear_v3(self_attn.o_proj: [H, Q], bias = cfg.attention_bias, shard = row, y = f32)
                -> all_reduce
            }
            residual {
                rmsnorm(post_attention_layernorm: [H], eps = cfg.rms_norm_eps)
                -> linear_v3(mlp.{gate_proj, up_proj}: [I, H], shard = column)
                -> silu_mul
                -> linear_v3(mlp.down_proj: [H, I], shard = row, y = f32)
                -> all_reduce
            }
        }

        rmsnorm(model.norm: [H], eps = cfg.rms_norm_eps)
        -> linear_v3(tied(lm_head, model.embed_tokens): [V, H], shard = column, y = f32)
        -> argmax;
    }
}
