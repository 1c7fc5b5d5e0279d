//! The gated half of a feed-forward block: norm, two matrices, gate.

pub(crate) mod check;

use mpk_runtime::mpk_task;
use mpk_runtime::reference::{dot, normed};

use crate::{linear_v3, rmsnorm, silu_mul};

/// `y = silu(gate) · up` for up to 16 tokens, where `gate` and `up` are the two halves of `norm(x) · Wᵀ + bias` as in `norm_linear`. A
/// tile is 16 outputs: a strip of the gate and a strip of up, which lie one after the other.
#[mpk_task(
    roles(consumer(groups = 2)),
    smem(scratch(part: [f32; 8 * 16 * 16], squares: [f32; 8 * 16]), align = 1024),
    tiles = I / 16,
    tokens = 16,
    fuses(rmsnorm -> linear_v3 -> silu_mul)
)]
pub fn norm_swiglu(
    x: In<[f32; (T, K)]>,
    norm: Weight<[bf16; (K,)]>,
    eps: Param<f32>,
    w: Weight<[W; (2 * I, K)]>,
    bias: Option<Weight<[bf16; (2 * I,)]>>,
    y: Out<[bf16; (T, I)]>,
) {
    consumer!("consumer.cuh");
    reference! {
        let rows: Vec<_> = (0..x.rows()).map(|t| normed(&x.row(t), norm, eps)).collect();
        for n in y.range() {
            let half = |first: usize, t: usize| {
                let (row, scale) = &rows[t];
                scale * dot(row, w.row(first + n)) + bias.map_or(0.0, |b| b.get(first + n))
            };
            for t in y.rows() {
                let gate = half(0, t);
                y.set(t, n, gate / (1.0 + (-gate).exp()) * half(I, t));
            }
        }
    }
}
