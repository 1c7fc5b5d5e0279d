//! Alignments that are no power of two, too small for pages, or missing for bulk copies.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), smem(scratch(part: [f32; 256]), align = 48), tiles = N / 16)]
fn odd(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer), smem(scratch(part: [f32; 256]), align = 128), tiles = N / 16)]
fn small(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); for (auto p : w.pages()) { part[lane()] += p.at(0); } y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer), smem(scratch(part: [f32; 256])), tiles = N / 16)]
fn missing(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); asm volatile("wgmma.fence.sync.aligned;"); y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer), smem(scratch(part: [f32; 256]), align = 2048), tiles = N / 16)]
fn huge(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

fn main() {}
