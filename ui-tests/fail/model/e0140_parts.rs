//! Two parts where three are needed: equal in sum, and sharded differently.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, Q = num_attention_heads * head_dim }

        embedding(model.embed_tokens: [V, H])
        -> linear_v3(self_attn.{q_proj: [Q, H], kv_proj: [2 * Q, H]})
        -> paged_attention(head_dim = cfg.head_dim, eps = cfg.rms_norm_eps, rope = mpk_runtime::rope::Rope {
            theta: 1e4, head_dim: cfg.head_dim, scaling: mpk_runtime::rope::RopeScaling::Default
        });
    }
}

fn main() {}
