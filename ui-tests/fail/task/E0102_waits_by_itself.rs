//! Loops that ask until somebody else has changed something.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn spins(x: In<[bf16; (T, N)]>, seen: State<[u64; (1, 1, 1, 4)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        while (seen.at(0, 0, 0, 0) < 4) {}
        while (seen.at(0, 0, 0, 1) < 4) { __nanosleep(100); }
        y.store(0, 0, x.at(0, 0));
    }
    reference! {}
}

fn main() {}
