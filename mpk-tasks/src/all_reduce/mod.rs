//! The sum over ranks.

pub(crate) mod check;

use mpk_runtime::mpk_task;

/// `y = Σ x over the ranks`, in f32 and in the order of the ranks. On one rank it is the value itself and costs nothing.
#[mpk_task(roles(consumer(groups = 2)), tiles = H / 64, collective = sum)]
pub fn all_reduce(x: In<[X; (T, H)]>, y: Out<[X; (T, H)]>) {
    consumer!("consumer.cuh");
    reference! {
        for t in y.rows() {
            let shares: Vec<_> = (0..x.ranks()).map(|rank| x.rank(rank).part(t, y.range())).collect();
            for (i, n) in y.range().enumerate() {
                y.set(t, n, shares.iter().map(|share| share[i]).sum());
            }
        }
    }
}
