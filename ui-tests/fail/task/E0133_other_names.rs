//! Pages of a weight by another name than its own.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn alias(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); auto& m = w; for (auto p : m.pages()) {} y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn brackets(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); for (auto p : (w).pages()) {} y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn macro_parameter(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        #define EACH(m) for (auto p : m.pages())
        dep_wait();
        if (role_warp() == 0) EACH(w) {}
        EACH(x) {}
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn member(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); if (lane() == 0) { for (auto p : this->w.pages()) {} } y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn vector(x: In<[bf16; (T, N)]>, v: Weight<[W; (N,)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); for (auto p : v.pages()) {} y.store(0, 0, 0.0f); }
    reference! {}
}

fn main() {}
