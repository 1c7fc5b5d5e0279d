//! Places in the hardware instead of places in the task.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn hardware(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        int n = blockIdx.x * blockDim.x + threadIdx.x;
        unsigned sm;
        asm("mov.u32 %0, %%smid;" : "=r"(sm));
        y.store(0, n, x.at(0, sm));
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn by_the_kernel(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        unsigned id;
        asm("mov.u32 %0, %%nclusterid.x;" : "=r"(id));
        y.store(0, thread(), x.at(0, warp()));
    }
    reference! {}
}

fn main() {}
