//! Activations touched before the wait: read, and written.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn early(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        float first = w.at(0, 0) * x.at(0, 0);
        y.store(0, 0, first);
        dep_wait();
        y.store(0, 1, x.at(0, 1));
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn between_two(x: In<[bf16; (T, N)]>, r: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait(x);
        y.store(0, 0, x.at(0, 0));
        dep_wait(r);
    }
    reference! {}
}

fn main() {}
