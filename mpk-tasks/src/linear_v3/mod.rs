//! Matrix times activations.

pub(crate) mod check;

use mpk_runtime::mpk_task;
use mpk_runtime::reference::dot;

/// `y = x · Wᵀ + bias` for up to 16 tokens: a run of 16-row output tiles per task.
#[mpk_task(roles(consumer(groups = 2)), smem(scratch(part: [f32; 8 * 16 * 16]), align = 1024), tiles = N / 16, tokens = 16)]
pub fn linear_v3(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, bias: Option<Weight<[bf16; (N,)]>>, y: Out<[Y; (T, N)]>) {
    consumer!("consumer.cuh");
    reference! {
        let rows: Vec<_> = (0..x.rows()).map(|t| x.row(t)).collect();
        for n in y.range() {
            let weights = w.row(n);
            let bias = bias.map_or(0.0, |b| b.get(n));
            for t in y.rows() {
                y.set(t, n, dot(&rows[t], weights) + bias);
            }
        }
    }
}
