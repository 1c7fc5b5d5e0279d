//! The largest logit, found by all workers together.

pub(crate) mod check;

use mpk_runtime::mpk_task;
use mpk_runtime::reference::{rank_index, rank_key};

/// Most workers of a plan: the columns of `best`.
const MOST: usize = 1024;

/// The index of the largest feature of each row; the lowest index on ties. One instance on each worker finds the best of its share
/// of the features; after the barrier the last instance, to which the output belongs, finds the best of all.
///
/// `seen` counts the instances that got to the barrier, over all steps: behind it, it is a multiple of their number.
#[mpk_task(roles(consumer(groups = 2)), grid)]
pub fn argmax_grid(
    x: In<[f32; (T, V)]>,
    best: State<[u64; (1, 1, 16, 1024)]>,
    seen: State<[u64; (1, 1, 1, 1)], monotonic>,
    at: TaskOffset,
    y: Out<[u32; (T, 1)]>,
) {
    consumer!("consumer.cuh");
    reference! {
        phase {
            let share = V.div_ceil(at.count);
            let own = V.min(at.index * share)..V.min((at.index + 1) * share);
            for t in 0..x.rows() {
                let values = x.part(t, own.clone());
                let keys = own.clone().zip(values.iter()).map(|(i, v)| rank_key(*v, i));
                best.set_word(t * MOST + at.index, keys.max().unwrap_or(0));
            }
            seen.add_word(0, 1);
        }
        phase {
            assert!(seen.word(0).is_multiple_of(at.count as u64), "{} arrivals of {} instances", seen.word(0), at.count);
            for t in y.rows() {
                for n in y.range() {
                    let keys = (0..at.count).map(|i| best.word(t * MOST + i));
                    y.set_word(t, n, u64::from(rank_index(keys.max().unwrap_or(0))));
                }
            }
        }
    }
}
