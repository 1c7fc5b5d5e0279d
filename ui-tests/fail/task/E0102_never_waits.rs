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
    consumer! { role_sync(); y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn after_many(p0: Param<f32>, p1: Param<f32>, p2: Param<f32>, p3: Param<f32>, p4: Param<f32>, p5: Param<f32>, p6: Param<f32>, p7: Param<f32>, v0: Weight<[bf16; (N,)]>, v1: Weight<[bf16; (N,)]>, v2: Weight<[bf16; (N,)]>, v3: Weight<[bf16; (N,)]>, v4: Weight<[bf16; (N,)]>, v5: Weight<[bf16; (N,)]>, v6: Weight<[bf16; (N,)]>, v7: Weight<[bf16; (N,)]>, x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

fn main() {}
