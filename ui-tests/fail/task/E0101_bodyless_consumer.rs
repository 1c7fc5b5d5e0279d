//! A role without a body: the consumer, and another.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer(groups = 2)), tiles = N / 16)]
fn bodyless(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    reference! {}
}

#[mpk_task(roles(consumer, storer), tiles = N / 16)]
fn half(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); }
    reference! {}
}

fn main() {}
