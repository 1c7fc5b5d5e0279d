//! Arguments that no port takes: one by name, and one by `->`.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, Q = num_attention_heads * head_dim }

        embedding(model.embed_tokens: [V, H]) -> rmsnorm(model.norm: [H], eps = cfg.rms_norm_eps, epsilon = cfg.rms_norm_eps)
        -> embedding(other: [V, H]);
    }
}

fn main() {}
