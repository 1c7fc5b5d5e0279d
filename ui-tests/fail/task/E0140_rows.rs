//! Shapes with their rows and features the wrong way round, and tiles of nothing.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = I / 64)]
fn swapped(x: In<[bf16; (N, T)]>, z: In<[bf16; (T, I)]>, y: Out<[bf16; (I, T)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0) + z.at(0, 0)); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn no_rows(x: In<[bf16; (T, N)]>, y: Out<[bf16; (1, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0)); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 0)]
fn no_tiles(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0)); }
    reference! {}
}

fn main() {}
