//! The sum of two values.

pub(crate) mod check;

use mpk_runtime::mpk_task;

/// `y = r + x`: what `residual { … }` and `a + b` mean in a model. The sum of two partial values stays partial.
#[mpk_task(roles(consumer(groups = 2)), tiles = H / 64, additive(x, r))]
pub fn add(x: In<[X; (T, H)]>, r: In<[R; (T, H)]>, y: Out<[R; (T, H)]>) {
    consumer!("consumer.cuh");
    reference! {
        for t in y.rows() {
            let (a, b) = (r.part(t, y.range()), x.part(t, y.range()));
            for (i, n) in y.range().enumerate() {
                y.set(t, n, a[i] + b[i]);
            }
        }
    }
}
