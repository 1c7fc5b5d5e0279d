//! Both ways of a condition, and a layer and the next, must give the same kind of value.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, Q = num_attention_heads * head_dim }

        embedding(model.embed_tokens: [V, H]);
        layer layers[i in 0..cfg.num_hidden_layers] {
            if i == 0 { linear_v3(a: [H, H]) } else { linear_v3(b: [I, H]) }
            linear_v3(c: [Q, H])
        }
        if cfg.head_dim > 64 { linear_v3(d: [H, Q], y = f32) }
    }
}

fn main() {}
