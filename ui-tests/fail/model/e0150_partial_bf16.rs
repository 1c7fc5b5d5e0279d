//! What the ranks add up is f32: by the model where the op leaves it the choice, by the task where it does not.

#[path = "../../model_ops.rs"]
mod ops;

use mpk_runtime::mpk_task;
use ops::*;

/// A product that is always bf16.
#[mpk_task(roles(consumer), tiles = N / 16)]
fn rounding(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0)); }
    reference! {}
}

mpk_runtime::model! {
    /// A decoder.
    pub model Tiny(cfg: Config) {
        dims { H = hidden_size, I = intermediate_size, V = vocab_size }

        embedding(model.embed_tokens: [V, H]);
        residual { linear_v3(up: [I, H], shard = column) -> linear_v3(down: [H, I], shard = row) -> all_reduce }
        residual { linear_v3(again: [I, H], shard = column) -> rounding(more: [H, I], shard = row) -> all_reduce }
        residual { linear_v3(last: [I, H], shard = column) -> linear_v3(end: [H, I], shard = row, y = bf16) -> all_reduce }
    }
}

fn main() {}
