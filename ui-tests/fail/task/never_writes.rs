//! An `Out` that nothing is stored in.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn one(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        float value = x.at(0, 0);
        // y.store(0, 0, value);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn one_of_two(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>, z: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0)); }
    reference! {}
}

fn main() {}
