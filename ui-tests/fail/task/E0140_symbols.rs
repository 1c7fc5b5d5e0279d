//! Symbols without a value, and more than the plan can hold.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn nothing_gives(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, M)]>) {
    consumer! {
        dep_wait();
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = 5 * K / 16)]
fn not_by_itself(x: In<[bf16; (T, 2 * N + 1)]>, y: Out<[bf16; (T, P)]>) {
    consumer! {
        dep_wait();
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N, inherits(N, M))]
fn inherits_in_vain(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn five_outputs(x: In<[bf16; (T, N)]>, y0: Out<[bf16; (T, N)]>, y1: Out<[bf16; (T, N)]>, y2: Out<[bf16; (T, N)]>, y3: Out<[bf16; (T, N)]>, y4: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        y0.store(0, 0, 0.0f); y1.store(0, 0, 0.0f); y2.store(0, 0, 0.0f); y3.store(0, 0, 0.0f); y4.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn five_types(x0: In<[E0; (T, N)]>, x1: In<[E1; (T, N)]>, x2: In<[E2; (T, N)]>, x3: In<[E3; (T, N)]>, x4: In<[E4; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn many_symbols(N: Param<u32>, p0: Param<f32>, p1: Param<f32>, p2: Param<f32>, p3: Param<f32>, p4: Param<f32>, p5: Param<f32>, p6: Param<f32>, p7: Param<f32>, p8: Param<f32>, p9: Param<f32>, p10: Param<f32>, p11: Param<f32>, p12: Param<f32>, p13: Param<f32>, p14: Param<f32>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        y.store(0, 0, p0);
    }
    reference! {}
}

fn main() {}
