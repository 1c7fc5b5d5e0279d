//! A task that runs at step 0 only.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), once, tiles = N / 64)]
pub fn zeros(N: Param<u32>, y: Out<[u64; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, uint64_t(0)); }
    reference! { y.set_word(0, 0, 0); }
}
