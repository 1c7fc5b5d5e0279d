//! A task that runs at step 0 only, and follows what changes with every step.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), once, tiles = N / 64)]
fn follows(x: In<[u64; (T, N)]>, y: Out<[u64; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0)); }
    reference! {}
}

fn main() {}
