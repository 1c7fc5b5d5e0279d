//! The index in the largest key of a row, over the blocks of all ranks.

use mpk_runtime::check::{Case, Matrix, Rule, over};
use mpk_runtime::shape::{Elem, Place};

pub fn cases() -> Vec<Case> {
    over(&[(1, 1), (64, 1), (297, 1), (1, 2), (64, 2), (297, 2), (1, 3), (37, 3), (297, 3)], |random, rows, (blocks, ranks)| {
        let mut shares: Vec<Matrix> = (0..ranks).map(|_| Matrix::words(rows, blocks, |_, _| random.word() >> 1)).collect();
        for t in 0..rows {
            // The largest key of a row is on each rank in turn, and in the first row the last of all.
            let (rank, block) = if t == 0 { (ranks - 1, blocks - 1) } else { (t % ranks, random.below(blocks)) };
            shares[rank].row_mut(t)[2 * block] = f64::from(u32::MAX);
        }
        let token = |left_out: usize| {
            Matrix::of(rows, 1, |t, _| {
                let keys = shares.iter().flat_map(|share| share.row(t).chunks(2)).map(|key| (key[0], key[1]));
                let all = ranks * blocks;
                let largest = keys.take(all - left_out).fold((0.0, 0.0), |a, b| if b > a { b } else { a });
                f64::from(u32::MAX) - largest.1
            })
        };
        Case::new(format!("{blocks} blocks, {ranks} ranks"), rows)
            .ranks(ranks)
            .input_by_rank("x", Elem::U64, Place::Sharded, shares.clone())
            .gives("y", Rule::Exact, token(0))
            .not("the last block", token(1))
    })
}
