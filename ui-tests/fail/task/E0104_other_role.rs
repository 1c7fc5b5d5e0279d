//! A role that does not wait touches activations.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer, storer), smem(scratch(tile: [f32; 256])), tiles = N / 16)]
fn stores(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); tile[role_thread()] = x.at(0, 0); y.store(0, 0, 0.0f); }
    storer! { y.store(0, 0, tile[lane()]); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn waits(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    storer! { dep_wait(x); y.store(0, 0, x.at(0, 0)); }
    reference! {}
}

fn main() {}
