//! Shared memory that is not declared.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn own(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        __shared__ float sums[32];
        extern __shared__ float rest[];
        dep_wait();
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn of_the_kernel(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        shared().run[0] = 0;
        asm volatile(".shared .align 4 .b8 buffer[16];");
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

fn main() {}
