//! Roles that do not exist, come twice, or want a warpgroup of their own.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumr(groups = 2)), tiles = N / 16)]
fn misspelt(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); }
    reference! {}
}

#[mpk_task(roles(consumer, consumer), tiles = N / 16)]
fn twice(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); }
    reference! {}
}

#[mpk_task(roles(consumer, storer(groups = 2)), tiles = N / 16)]
fn own_group(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); }
    storer! { role_sync(); }
    reference! {}
}

fn main() {}
