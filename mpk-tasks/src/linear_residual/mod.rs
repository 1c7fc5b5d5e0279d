//! Matrix times activations, added to the residual stream.

pub(crate) mod check;

use mpk_runtime::mpk_task;
use mpk_runtime::reference::dot;

use crate::{add, linear_v3};

/// `y = r + x · Wᵀ + bias` for up to 16 tokens. It replaces a linear and the sum after it where the linear's output is complete;
/// where it is partial the collective stands between them and the chain stays as it is.
#[mpk_task(
    roles(consumer(groups = 2)),
    smem(scratch(part: [f32; 8 * 16 * 16]), align = 1024),
    tiles = N / 16,
    tokens = 16,
    fuses(linear_v3 -> add)
)]
pub fn linear_residual(
    x: In<[bf16; (T, K)]>,
    w: Weight<[W; (N, K)]>,
    bias: Option<Weight<[bf16; (N,)]>>,
    r: In<[f32; (T, N)]>,
    y: Out<[f32; (T, N)]>,
) {
    consumer!("consumer.cuh");
    reference! {
        let rows: Vec<_> = (0..x.rows()).map(|t| x.row(t)).collect();
        for n in y.range() {
            let weights = w.row(n);
            let bias = bias.map_or(0.0, |b| b.get(n));
            for t in y.rows() {
                y.set(t, n, r.part(t, n..n + 1)[0] + (dot(&rows[t], weights) + bias));
            }
        }
    }
}
