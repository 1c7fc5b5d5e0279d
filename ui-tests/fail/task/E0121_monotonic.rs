//! Monotonic state that is set back.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn resets(x: In<[bf16; (T, N)]>, seen: State<[u64; (4,)], monotonic>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        seen.at(0) = 0;
        seen.set(1, 0);
        atomicExch(&seen.at(2), 0);
        seen.at(3) += 1;
    }
    reference! {}
}

fn main() {}
