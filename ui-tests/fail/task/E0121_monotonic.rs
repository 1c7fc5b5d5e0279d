//! Monotonic state that is set back.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn resets(x: In<[bf16; (T, N)]>, seen: State<[u64; (1, 1, 1, 4)], monotonic>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        seen.store(0, 0, 0, 1, 0);
        auto& other = seen;
        other.store(0, 0, 0, 0, 0);
        seen.add(0, 0, 0, 3, seen.at(0, 0, 0, 2));
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

fn main() {}
