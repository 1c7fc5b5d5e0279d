//! Sharded values: into a norm, into another column split, and at the end of a way.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, Q = num_attention_heads * head_dim }

        embedding(model.embed_tokens: [V, H]);
        let up = linear_v3(up: [H, H], shard = column);
        let _a = up -> rmsnorm(norm: [H], eps = cfg.rms_norm_eps);
        let _b = up -> linear_v3(again: [H, H], shard = column);
        up;
        if cfg.head_dim > 64 { linear_v3(half: [H, H], shard = none) } else { linear_v3(other: [H, H], shard = column) }
    }
}

fn main() {}
