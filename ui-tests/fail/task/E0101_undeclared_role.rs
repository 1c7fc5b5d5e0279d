//! Bodies of roles that are not declared.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn storer_too(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); }
    storer! { role_sync(); }
    reference! {}
}

#[mpk_task(tiles = N / 16)]
fn no_roles(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); }
    reference! {}
}

#[mpk_task(tiles = N / 16)]
fn nothing_at_all(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    reference! {}
}

fn main() {}
