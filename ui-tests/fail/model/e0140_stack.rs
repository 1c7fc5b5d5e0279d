//! Weights of other widths, or of other ranks, stacked.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, Q = num_attention_heads * head_dim }

        embedding(model.embed_tokens: [V, H])
        -> linear_v3(mlp.{gate_proj: [I, H], up_proj: [I, Q], norm: [I]})
        -> linear_v3(tied(a: [V, I], b: [V, H]));
    }
}

fn main() {}
