//! Statements that do not make sense where they stand: all are found in one run.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size, Q = num_attention_heads * head_dim }

        residual { linear_v3(a: [H, H]) }
        layer layers[i in 0..cfg.num_hidden_layers] {
            layer inner[j in 0..2] { rmsnorm(c: [H]) }
            residual { let _unused = rmsnorm(d: [H]); }
        }
        if let Some(x) = cfg.head_dim { rmsnorm(h: [H]) }
        if cfg.head_dim > 2 && let 1 = cfg.num_hidden_layers { rmsnorm(k: [H]) }
        let (a, b) = a + b;
        let s = linear_v3(s: [H, H]);
        let t = linear_v3(t: [H, H]);
        t -> linear_v3(u: [H, H]);
        t + t;
        match cfg.head_dim {}
        extra "";
    }
}

fn main() {}
