//! An `In` that nobody waits for: all of them, or one of two.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn never(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        y.store(0, 0, x.at(0, 0));
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn one_of_two(x: In<[bf16; (T, N)]>, r: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait(x);
        y.store(0, 0, x.at(0, 0) + r.at(0, 0));
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn unused(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { role_sync(); }
    reference! {}
}

fn main() {}
