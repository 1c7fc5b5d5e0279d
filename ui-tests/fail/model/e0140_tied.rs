//! Tied stacks that do not stand for one another.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Second(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size }

        embedding(model.embed_tokens: [V, H]);
        linear_v3(tied(a.{b: [H, H], c: [I, H]}, d.{e: [H, H], f: [V, H]}));
    }
}

mpk_runtime::model! {
    /// A decoder.
    pub model Fewer(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size }

        embedding(model.embed_tokens: [V, H]);
        linear_v3(tied(a.{b: [H, H], c: [I, H]}, d: [H, H]));
    }
}

fn main() {}
