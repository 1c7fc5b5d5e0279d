//! Features that are equal in number for every released config, and not the same symbol.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, Q = num_attention_heads * head_dim }

        embedding(model.embed_tokens: [V, H])
        -> linear_v3(self_attn.q_proj: [Q, H])
        -> linear_v3(self_attn.o_proj: [H, H]);
    }
}

fn main() {}
