//! A group is 128 threads, and there are one to three.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer(threads = 256)), tiles = N / 16)]
fn wide(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer(groups = 4)), tiles = N / 16)]
fn many(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer(threads = 96)), tiles = N / 16)]
fn odd(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! {}
}

fn main() {}
