//! An error in a reference is shown in the author's own lines.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn wrong(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! {
        for t in y.rows() {
            y.set(t, N, x.raw(t));
        }
    }
}

fn main() {}
