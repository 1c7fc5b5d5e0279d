//! What the model gives must be complete.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, Q = num_attention_heads * head_dim }

        embedding(model.embed_tokens: [V, H])
        -> linear_v3(up: [I, H], shard = column)
        -> linear_v3(down: [H, I], shard = row, y = f32);
    }
}

fn main() {}
