//! Dimensions are sums and products of what is defined before them.

#[path = "../../model_ops.rs"]
mod ops;

use ops::*;

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, H = head_dim, Q = N * D, N = num_attention_heads, D = H / N, V = , W = vocab_size }
    }
}

fn main() {}
