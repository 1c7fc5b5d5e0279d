//! Shared memory that is not declared.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn own(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        __shared__ float sums[32];
        extern __shared__ float rest[];
        dep_wait();
    }
    reference! {}
}

fn main() {}
