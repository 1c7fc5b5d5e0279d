//! Tasks of this crate: one body in a file beside the source, the others inline.

use mpk_runtime::reference::dot;
use mpk_runtime::{mpk_task, op};

/// `y[t] = w[token of row t]`.
#[mpk_task(roles(consumer(groups = 2)), tiles = H / 64)]
pub fn lookup(rows: Rows, w: Weight<[bf16; (V, H)]>, y: Out<[f32; (T, H)]>) {
    consumer!("lookup.cuh");
    reference! {
        for t in y.rows() {
            let row = w.row(rows.get(t).token as usize);
            for n in y.range() {
                y.set(t, n, row[n].to_f32());
            }
        }
    }
}

/// `y = factor · x`.
#[mpk_task(roles(consumer(groups = 2)), tiles = T)]
pub fn scale(x: In<[f32; (T, H)]>, factor: Param<f32>, y: Out<[bf16; (T, H)]>) {
    consumer! {
        dep_wait();
        for (uint32_t t = task.first_tile; t < smaller(task.first_tile + task.tiles, T); ++t) {
            for (uint32_t k = role_thread(); k < H; k += role_threads()) y.store(t, k, factor * x.at(t, k));
        }
    }
    reference! {
        for t in y.rows() {
            let row = x.row(t);
            for n in y.range() {
                y.set(t, n, factor * row[n]);
            }
        }
    }
}

/// `y = x · Wᵀ`, a thread for each sum.
#[mpk_task(roles(consumer(groups = 2)), tiles = N / 16, tokens = 16)]
pub fn project(x: In<[bf16; (T, K)]>, w: Weight<[bf16; (N, K)]>, y: Out<[f32; (T, N)]>) {
    consumer! {
        dep_wait();
        const uint32_t first = task.first_tile * 16;
        const uint32_t count = smaller(task.tiles * 16, N - first);
        for (uint32_t i = role_thread(); i < T * count; i += role_threads()) {
            const uint32_t t = i / count, n = first + i % count;
            float sum = 0;
            for (uint32_t k = 0; k < K; ++k) sum += x.at(t, k) * w.at(n, k);
            y.store(t, n, sum);
        }
    }
    reference! {
        for t in y.rows() {
            let row = x.row(t);
            for n in y.range() {
                y.set(t, n, dot(&row, w.row(n)));
            }
        }
    }
}

/// `y = r + x`: what `residual { … }` means here.
#[mpk_task(roles(consumer(groups = 2)), tiles = H / 64, additive(x, r))]
pub fn add(x: In<[f32; (T, H)]>, r: In<[f32; (T, H)]>, y: Out<[f32; (T, H)]>) {
    consumer! {
        dep_wait();
        const uint32_t first = task.first_tile * 64;
        const uint32_t count = smaller(task.tiles * 64, H - first);
        for (uint32_t i = role_thread(); i < T * count; i += role_threads()) {
            const uint32_t t = i / count, n = first + i % count;
            y.store(t, n, r.at(t, n) + x.at(t, n));
        }
    }
    reference! {
        for t in y.rows() {
            let (a, b) = (r.row(t), x.row(t));
            for n in y.range() {
                y.set(t, n, a[n] + b[n]);
            }
        }
    }
}

op! {
    /// `y = (factor · x) · Wᵀ`.
    pub scaled_project = scale -> project
}
