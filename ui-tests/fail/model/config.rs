//! What the config does not have, or has in another type, is the compiler's own error.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { X = hiden_size, H = hidden_size, I = intermediate_size, V = vocab_size, Q = num_attention_heads * head_dim }

        embedding(model.embed_tokens: [V, H]) -> rmsnorm(model.norm: [H], eps = cfg.rms_norm_epsilon);
        layer layers[i in 0..cfg.num_hidden_layers] { rmsnorm(norm: [H], eps = "1e-6") }
    }
}

fn main() {}
