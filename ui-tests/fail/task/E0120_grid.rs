//! Grid-wide tasks that do not say so, or do not take their index.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), grid)]
fn no_offset(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); grid_barrier(); y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn not_declared(x: In<[bf16; (T, N)]>, at: TaskOffset, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); grid_barrier(); y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer), grid)]
fn in_a_branch(x: In<[bf16; (T, N)]>, at: TaskOffset, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); if (lane() == 0) grid_barrier(); y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer), grid)]
fn not_for_all(x: In<[bf16; (T, N)]>, at: TaskOffset, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        for (uint32_t t = 0; t < T; ++t) { if (t == role_warp()) grid_barrier(); }
        bool one = lane() == 0 && (grid_barrier(), true);
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), grid)]
fn after_a_return(x: In<[bf16; (T, N)]>, at: TaskOffset, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        if (at.index > 0) return;
        grid_barrier();
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

fn main() {}
