//! A grid-wide task with its index and a state that grows.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), grid)]
pub fn everywhere(x: In<[bf16; (T, N)]>, seen: State<[u64; (4,)], monotonic>, at: TaskOffset, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        seen.at(0) += 1;
        atomicAdd(&seen.at(1), 1);
        grid_barrier();
    }
    reference! {
        phase { seen.set_word(0, at.index as u64); }
        phase { assert!(tiles.is_empty() || at.count > 0); }
    }
}
