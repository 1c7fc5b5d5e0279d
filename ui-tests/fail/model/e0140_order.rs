//! Stacked weights in another order than that of the parts; what comes after has no error of its own.

#[path = "../../model_ops.rs"]
mod ops;

use mpk_runtime::rope::{Rope, RopeScaling};
use ops::*;

impl Config {
    fn rope(&self) -> Rope {
        Rope { theta: 1e4, head_dim: self.head_dim, scaling: RopeScaling::Default }
    }
}

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims {
            H = hidden_size, I = intermediate_size, V = vocab_size, D = head_dim,
            Q = num_attention_heads * head_dim, KV = num_hidden_layers * head_dim
        }

        embedding(model.embed_tokens: [V, H]);
        residual {
            linear_v3(self_attn.{k_proj: [KV, H], q_proj: [Q, H], v_proj: [KV, H]}, shard = column)
            -> paged_attention(head_dim = cfg.head_dim, rope = cfg.rope(), eps = cfg.rms_norm_eps)
            -> linear_v3(self_attn.o_proj: [H, Q], shard = row, y = f32)
            -> all_reduce
        }
        // A weight the wrong way round: neither the sum nor what follows is wrong.
        residual { linear_v3(mlp.{gate_proj, up_proj}: [I, H], shard = column) -> silu_mul -> linear_v3(mlp.down_proj: [I, H]) }
        linear_v3(lm_head: [V, H]);
    }
}

fn main() {}
