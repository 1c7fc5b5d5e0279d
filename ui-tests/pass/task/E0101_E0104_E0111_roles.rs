//! All work is the consumer's, which waits: what another role would store, it stores itself, through its own scratch.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer(groups = 2)), smem(scratch(tile: [f32; 1024])), tiles = T)]
pub fn stored(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        for (uint32_t t = task.first_tile; t < smaller(task.first_tile + task.tiles, T); ++t) {
            for (uint32_t n = role_thread(); n < N; n += role_threads()) tile[n % 1024] = x.at(t, n);
            groups_sync();
            for (uint32_t n = role_thread(); n < N; n += role_threads()) y.store(t, n, tile[n % 1024]);
            groups_sync();
        }
    }
    reference! { for t in y.rows() { for n in y.range() { y.set(t, n, x.row(t)[n]); } } }
}
