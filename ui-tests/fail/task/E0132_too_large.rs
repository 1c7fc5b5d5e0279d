//! More scratch than a block has beside the ring.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), smem(scratch(a: [f32; 32 * 1024], b: [f32; 16 * 1024], c: [u64; 8])), tiles = N / 16)]
fn large(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer), smem(scratch(a: [f32; 41 * 1024 - 512], b: [f32; 1], c: [f32; 512]), align = 1024), tiles = N / 16)]
fn by_alignment(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

fn main() {}
