//! Loops over pages that do not run exactly once.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn in_a_branch(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); if (role_warp() == 0) for (auto p : w.pages()) {} y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn in_a_loop(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); for (uint32_t t = 0; t < T; ++t) { for (auto p : w.pages()) {} } y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn in_a_lambda(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); auto all = [&] { for (auto p : w.pages()) {} }; all(); y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn not_compiled(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        #if 0
        for (auto p : w.pages()) {}
        #endif
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn twice(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); for (auto p : w.pages()) {} for (auto p : w.pages()) {} y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn out_of_turn(x: In<[bf16; (T, K)]>, a: Weight<[W; (N, K)]>, b: Weight<[W; (N, K)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); for (auto p : b.pages()) {} for (auto p : a.pages()) {} y.store(0, 0, 0.0f); }
    reference! {}
}

fn main() {}
