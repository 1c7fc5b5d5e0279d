//! Statements that can't be read: all are found in one run.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, Q = num_attention_heads * head_dim }

        layer layers[i in 0..=cfg.num_hidden_layers] { rmsnorm(b: [H]) }
        rmsnorm(f: [H]) rmsnorm(g: [H]);
        let (a, b) = linear_v3(c: [H, H]) -> 5;
        match cfg.head_dim { 0 -> rmsnorm(d: [H]), }
        add(r = b) -> rmsnorm(i: [H]) + a;
    }
}

fn main() {}
