//! Weights, parameters, state and scratch before the wait; one wait for all, for each, or for some; in a file too.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), smem(scratch(part: [f32; 16])), tiles = N / 16)]
pub fn one_for_all(
    x: In<[bf16; (T, K)]>,
    r: In<[f32; (T, N)]>,
    w: Weight<[W; (N, K)]>,
    kv: State<[bf16; (P / 64, 1, 64, K)]>,
    eps: Param<f32>,
    y: Out<[f32; (T, N)]>,
) {
    consumer! {
        struct Pair { float x, y; __device__ float sum() const { return x + y; } };
        Pair v{w.at(0, 0), this->kv.at(0, 0, 0, 0)};
        if (lane() == 0) [[likely]] { part[role_warp()] = v.x + v.y + v.sum() + eps; }   // Members of the names of ports are none.
        { this->dep_wait(); }
        if (task.tiles == 0) return;
        y.store(0, 0, x.at(0, 0) + (*this).r.at(0, 0));
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
pub fn one_for_each(x: In<[bf16; (T, N)]>, r: In<[f32; (T, N)]>, y: Out<[f32; (T, N)]>) {
    consumer!("E0102_E0103_waits.cuh",);
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
pub fn one_for_two(a: In<[bf16; (T, N)]>, b: In<[f32; (T, N)]>, c: In<[f32; (T, N)]>, y: Out<[f32; (T, N)]>) {
    consumer! {
        dep_wait(a, b);
        const float sum = a.at(0, 0) + b.at(0, 0);
        dep_wait(c);
        y.store(0, 0, sum + c.at(0, 0));
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = H / 64)]
pub fn no_input(rows: Rows, w: Weight<[W; (V, H)]>, y: Out<[f32; (T, H)]>) {
    consumer! { y.store(0, 0, w.at(rows[0].token, 0)); }
    reference! {}
}
