//! As many names as the op has outputs.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, Q = num_attention_heads * head_dim }

        embedding(model.embed_tokens: [V, 2 * H]);
        let (a, b, c) = halves;
        let (d, e) = a -> rmsnorm(norm: [H], eps = cfg.rms_norm_eps);
        add(r = b) -> add(r = c) -> add(r = d) -> add(r = e);
    }
}

fn main() {}
