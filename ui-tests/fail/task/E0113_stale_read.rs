//! Reads through the non-coherent cache of what other tasks write; of weights they are fine.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn stale(x: In<[f32; (T, N)]>, w: Weight<[bf16; (N,)]>, kv: State<[f32; (N,)]>, y: Out<[f32; (T, N)]>) {
    consumer! {
        const void* __restrict__ weights = w.row(0);
        dep_wait();
        const float* __restrict__ p = x.row(0);
        float v = __ldg(&kv.at(0));
        asm("ld.global.nc.f32 %0, [%1];" : "=f"(v) : "l"(x.row(1)));
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

fn main() {}
