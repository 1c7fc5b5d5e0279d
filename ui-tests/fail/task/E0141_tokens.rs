//! More tokens than a task computes.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16, tokens = 32)]
fn many(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! {}
}

fn main() {}
