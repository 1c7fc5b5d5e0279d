//! Jumps past or back over a wait.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn jumps(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        again: dep_wait();
        if (x.at(0, 0) == 0) goto again;
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

fn main() {}
