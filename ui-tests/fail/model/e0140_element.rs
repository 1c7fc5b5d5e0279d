//! Logits are bf16 unless the model says `y = f32`, and some types are not free.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, Q = num_attention_heads * head_dim }

        embedding(model.embed_tokens: [V, H]) -> rmsnorm(norm: [H], eps = cfg.rms_norm_eps, y = f32) -> linear_v3(lm_head: [V, H]) -> argmax;
    }
}

fn main() {}
