//! The first values of a state.

pub(crate) mod check;

use mpk_runtime::mpk_task;

/// `N` words that begin as `value` and live across steps: given to a `State` port of another task, they are its memory.
///
/// It runs at step 0 only, so that nothing can set a count back later.
#[mpk_task(roles(consumer(groups = 2)), once, tiles = N / 64)]
pub fn tensor_init(N: Param<u32>, value: Param<u32>, y: Out<[u64; (T, N)]>) {
    consumer!("consumer.cuh");
    reference! {
        for t in y.rows() {
            for n in y.range() {
                y.set_word(t, n, u64::from(value));
            }
        }
    }
}
