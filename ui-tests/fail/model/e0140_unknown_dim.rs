//! A dimension that nobody defined: by a slip, and for want of a definition.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, Q = num_attention_heads * head_dim }

        embedding(model.embed_tokens: [V, H]) -> linear_v3(mlp.{gate_proj, up_proj}: [II, H]) -> linear_v3(down: [H, 2 * experts]);
    }
}

fn main() {}
