//! Bodies of a role that is not declared, and no role at all.

use mpk_runtime::mpk_task;

#[mpk_task(tiles = N / 16)]
fn no_roles(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(tiles = N / 16)]
fn nothing_at_all(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    reference! {}
}

fn main() {}
