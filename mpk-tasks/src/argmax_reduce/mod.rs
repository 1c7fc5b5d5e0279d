//! The largest of all blocks and ranks.

pub(crate) mod check;

use mpk_runtime::mpk_task;

/// The index of the largest key of a row, over the blocks of all ranks.
#[mpk_task(roles(consumer(groups = 2)), smem(scratch(best: [u64; 8])), tiles = T, collective = gather)]
pub fn argmax_reduce(x: In<[u64; (T, B)]>, y: Out<[u32; (T, 1)]>) {
    consumer!("consumer.cuh");
    reference! {
        for t in y.rows() {
            let keys = (0..x.ranks()).flat_map(|rank| x.rank(rank).words(t)).copied();
            y.set_word(t, 0, u64::from(mpk_runtime::reference::rank_index(keys.max().unwrap_or(0))));
        }
    }
}
