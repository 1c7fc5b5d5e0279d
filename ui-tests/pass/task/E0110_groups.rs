//! One to three groups of 128 threads.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer(threads = 128)), tiles = N / 16)]
pub fn one(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer(groups = 3)), tiles = N / 16)]
pub fn three(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! {}
}
