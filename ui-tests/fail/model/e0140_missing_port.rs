//! A parameter, a weight and the chained value: none may be left out.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, Q = num_attention_heads * head_dim }

        embedding(model.embed_tokens: [V, H]) -> rmsnorm(model.norm: [H]);
        linear_v3(shard = none);
        let other = silu_mul -> linear_v3(down: [H, I], bias = true);
        add(r = other) -> add;
    }
}

fn main() {}
