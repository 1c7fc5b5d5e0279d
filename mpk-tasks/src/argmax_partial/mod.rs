//! The largest logit of a block of 512.

pub(crate) mod check;

use mpk_runtime::mpk_task;

/// For every block of 512 features a word that orders by value, then by lowest index: see [`mpk_runtime::reference::rank_key`].
#[mpk_task(roles(consumer(groups = 2)), smem(scratch(best: [u64; 8])), tiles = V / 512)]
pub fn argmax_partial(x: In<[f32; (T, V)]>, y: Out<[u64; (T, V.div_ceil(512))]>) {
    consumer!("consumer.cuh");
    reference! {
        for t in y.rows() {
            for n in y.range() {
                let block = 512 * n..V.min(512 * (n + 1));
                let values = x.part(t, block.clone());
                let keys = block.zip(values.iter()).map(|(i, v)| mpk_runtime::reference::rank_key(*v, x.global(i)));
                y.set_word(t, n, keys.max().unwrap_or(0));
            }
        }
    }
}
