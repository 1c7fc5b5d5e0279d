//! `y = Σ x over the ranks`: of one rank the value itself, bit by bit.

use mpk_runtime::check::{Case, Matrix, Rule, over};
use mpk_runtime::shape::{Elem, Place};

pub fn cases() -> Vec<Case> {
    over(&[(64, 1), (1003, 1), (64, 2), (512, 2), (1003, 2), (64, 3), (512, 3), (1003, 3)], |random, rows, (h, ranks)| {
        let shares: Vec<Matrix> = (0..ranks).map(|_| random.matrix(Elem::Bf16, rows, h)).collect();
        let sum = |ranks: usize| Matrix::of(rows, h, |t, n| shares[..ranks].iter().map(|share| share.at(t, n)).sum());
        Case::new(format!("{h} features, {ranks} ranks"), rows)
            .ranks(ranks)
            .input_by_rank("x", Elem::Bf16, Place::Partial, shares.clone())
            .gives("y", if ranks == 1 { Rule::Exact } else { Rule::Close(h) }, sum(ranks))
            .not("the last rank", sum(ranks - 1))
    })
}
