//! A grid-wide task with its index and a state that grows; all workers run its loops alike.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), grid)]
pub fn everywhere(x: In<[bf16; (T, N)]>, seen: State<[u64; (1, 1, 1, 4)], monotonic>, at: TaskOffset, y: Out<[bf16; (T, 1)]>) {
    consumer! {
        dep_wait();
        if (role_thread() == 0) seen.add(0, 0, 0, at.index % 4, 1);
        for (uint32_t round = 0; round < 2; ++round) grid_barrier();
        if (at.index + 1 == at.count) y.store(0, 0, seen.at(0, 0, 0, 0) > 0 ? x.at(0, 0) : 0.0f);
    }
    reference! {
        phase { seen.set_word(0, at.index as u64); }
        phase { assert!(tiles.is_empty() || at.count > 0); }
    }
}
