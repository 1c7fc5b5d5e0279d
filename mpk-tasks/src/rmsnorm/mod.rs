//! Root-mean-square norm.

pub(crate) mod check;

use mpk_runtime::mpk_task;

/// `y = x / sqrt(mean(x²) + eps) · norm`, by row.
#[mpk_task(roles(consumer(groups = 2)), smem(scratch(sums: [f32; 8])), tiles = T)]
pub fn rmsnorm(x: In<[f32; (T, H)]>, norm: Weight<[bf16; (H,)]>, eps: Param<f32>, y: Out<[bf16; (T, H)]>) {
    consumer!("consumer.cuh");
    reference! {
        for t in y.rows() {
            let row = x.row(t);
            let scale = mpk_runtime::reference::rms_scale(&row, eps);
            for n in y.range() {
                y.set(t, n, row[n] * scale * norm.get(n));
            }
        }
    }
}
