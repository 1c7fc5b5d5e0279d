//! A value that the next statement does not take.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size }

        let h = embedding(model.embed_tokens: [V, H]);
        h -> rmsnorm(n: [H], eps = cfg.rms_norm_eps);
        linear_v3(x = h, p: [H, H]);
    }
}

fn main() {}
