//! Conditions that could differ from rank to rank.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, Q = num_attention_heads * head_dim }

        embedding(model.embed_tokens: [V, H]);
        layer layers[i in 0..cfg.num_hidden_layers] {
            if rank == 0 { linear_v3(a: [H, H]) }
            if i < cfg.first_layer(tp_size) { linear_v3(b: [H, H]) }
            match crate::helpers::world() {
                0 => linear_v3(c: [H, H]),
                _ => linear_v3(d: [H, H], bias = is_leader()),
            }
        }
    }
}

fn main() {}
