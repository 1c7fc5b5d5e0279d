//! Roles with bodies; another role may touch activations after a wait of its own.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer(groups = 2), storer), smem(scratch(tile: [f32; 256])), tiles = N / 16)]
pub fn stored(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); tile[role_thread()] = x.at(0, 0); }
    storer! { dep_wait(x); y.store(0, 0, tile[lane()]); }
    reference! { for t in y.rows() { for n in y.range() { y.set(t, n, x.row(t)[n]); } } }
}
