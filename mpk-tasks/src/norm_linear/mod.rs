//! Matrix times normed activations.

pub(crate) mod check;

use mpk_runtime::mpk_task;
use mpk_runtime::reference::{dot, normed};

use crate::{linear_v3, rmsnorm};

/// `y = norm(x) · Wᵀ + bias` for up to 16 tokens, where `norm(x) = x / sqrt(mean(x²) + eps) · norm`. What a row is divided by is
/// common to all of its outputs, so it scales the sums: no worker waits for another to have seen the whole row.
#[mpk_task(
    roles(consumer(groups = 2)),
    smem(scratch(part: [f32; 8 * 16 * 16], squares: [f32; 8 * 16]), align = 1024),
    tiles = N / 16,
    tokens = 16,
    fuses(rmsnorm -> linear_v3)
)]
pub fn norm_linear(
    x: In<[f32; (T, K)]>,
    norm: Weight<[bf16; (K,)]>,
    eps: Param<f32>,
    w: Weight<[W; (N, K)]>,
    bias: Option<Weight<[bf16; (N,)]>>,
    y: Out<[Y; (T, N)]>,
) {
    consumer!("consumer.cuh");
    reference! {
        let rows: Vec<_> = (0..x.rows()).map(|t| normed(&x.row(t), norm, eps)).collect();
        for n in y.range() {
            let weights = w.row(n);
            let bias = bias.map_or(0.0, |b| b.get(n));
            for t in y.rows() {
                let (row, scale) = &rows[t];
                y.set(t, n, scale * dot(row, weights) + bias);
            }
        }
    }
}
