//! The largest of every 512 values: a word whose upper half orders as the value does, and whose lower half is the inverted index.

use mpk_runtime::check::{Case, Matrix, Rule, over};
use mpk_runtime::shape::{Elem, Place};

/// The upper half of a key: NaN below all numbers, which the order of IEEE's totalOrder puts above them.
fn order(value: f64) -> u64 {
    let bits = (value as f32).to_bits() as i32;
    // Negative numbers count down in their lower 31 bits.
    let total = bits ^ ((bits >> 31) as u32 >> 1) as i32;
    if value.is_nan() { 0 } else { u64::from((total as u32).wrapping_add(1 << 31)) }
}

/// The keys of a row whose first feature is `first` of the unsharded row, with blocks of `block` values.
fn keys(x: &Matrix, first: usize, block: usize) -> Matrix {
    let blocks = x.cols().div_ceil(512);
    Matrix::words(x.rows(), blocks, |t, b| {
        let mut best = (0, 0);
        for (i, value) in x.row(t).iter().enumerate().skip(512 * b).take(block) {
            let order = order(*value);
            if i == 512 * b || order > best.0 {
                best = (order, first + i);
            }
        }
        best.0 << 32 | u64::from(!(best.1 as u32))
    })
}

pub fn cases() -> Vec<Case> {
    over(&[(512, 1), (4096, 1), (1003, 1), (1003, 2)], |random, rows, (v, ranks)| {
        let logits = |random: &mut mpk_runtime::check::Random| {
            let mut x = random.matrix(Elem::F32, rows, v);
            for t in 0..rows {
                let (one, other) = (random.below(v), random.below(v));
                let row = x.row_mut(t);
                // Two largest, of which the first counts; what a comparison of floats gets wrong; the largest at the end of a block.
                match t % 3 {
                    0 => (row[one], row[other]) = (9.0, 9.0),
                    1 => (row[one], row[other]) = (f64::NAN, f64::NEG_INFINITY),
                    _ => row[511.min(v - 1)] = 8.0,
                }
                if t == 0 {
                    row[v - 1] = 10.0;
                }
            }
            x
        };
        let shares: Vec<Matrix> = (0..ranks).map(|_| logits(random)).collect();
        let by_rank = |block| shares.iter().enumerate().map(|(rank, x)| keys(x, rank * v, block)).collect::<Vec<_>>();
        Case::new(format!("{v} logits, {ranks} ranks"), rows)
            .ranks(ranks)
            .input_by_rank("x", Elem::F32, Place::Sharded, shares.clone())
            .gives_by_rank("y", Rule::Exact, by_rank(512))
            .not_by_rank("the last step of a block", by_rank((v - 1) % 512 + 1 - 16))
    })
}
