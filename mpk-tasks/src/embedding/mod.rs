//! Rows of the embedding table.

pub(crate) mod check;

use mpk_runtime::mpk_task;

/// `y[t] = w[token of row t]`, the start of the residual stream in f32.
#[mpk_task(roles(consumer(groups = 2)), tiles = H / 64)]
pub fn embedding(rows: Rows, w: Weight<[W; (V, H)]>, y: Out<[f32; (T, H)]>) {
    consumer!("consumer.cuh");
    reference! {
        for t in y.rows() {
            let row = w.row(rows.get(t).token as usize);
            for n in y.range() {
                y.set(t, n, row[n].to_f32());
            }
        }
    }
}
