//! Waits for what is no `In`, and waits that come twice.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn misspelt(input: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(inptu); y.store(0, 0, input.at(0, 0)); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn of_a_weight(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(w); dep_wait(x); y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn twice(x: In<[bf16; (T, N)]>, r: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait(x);
        dep_wait();
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn one_of_two_is_none(x: In<[bf16; (T, N)]>, r: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait(x, s);
        dep_wait(r);
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

fn main() {}
