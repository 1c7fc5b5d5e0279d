//! A consumer without a body.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer(groups = 2)), tiles = N / 16)]
fn bodyless(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    reference! {}
}

fn main() {}
