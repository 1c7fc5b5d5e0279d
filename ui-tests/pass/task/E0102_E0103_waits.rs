//! Weights, parameters, state and scratch before the wait; one wait for all, or one for each; in a file too.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), smem(scratch(part: [f32; 16])), tiles = N / 16)]
pub fn one_for_all(
    x: In<[bf16; (T, K)]>,
    r: In<[f32; (T, N)]>,
    w: Weight<[W; (N, K)]>,
    kv: State<[bf16; (P, K)]>,
    eps: Param<f32>,
    y: Out<[f32; (T, N)]>,
) {
    consumer! {
        float4 v = w.row(0);
        part[0] = v.x + v.y + kv.at(0, 0) + eps;   // Members of the names of ports are none.
        { dep_wait(); }
        if (task.tiles == 0) return;
        y.store(0, 0, x.at(0, 0) + r.at(0, 0));
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
pub fn one_for_each(x: In<[bf16; (T, N)]>, r: Option<In<[f32; (T, N)]>>, y: Out<[f32; (T, N)]>) {
    consumer!("E0102_E0103_waits.cuh");
    reference! {}
}

#[mpk_task(roles(consumer), tiles = H / 64)]
pub fn no_input(rows: Rows, w: Weight<[W; (V, H)]>, y: Out<[f32; (T, H)]>) {
    consumer! { y.store(0, 0, w.at(rows.token(0), 0)); }
    reference! {}
}
