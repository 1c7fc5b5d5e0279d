//! Rows of a table, bit by bit.

use mpk_runtime::check::{Case, Matrix, Rule, over};
use mpk_runtime::shape::Elem;
use mpk_runtime::step::{Row, StepRows};

pub fn cases() -> Vec<Case> {
    over(&[(32, 64), (1000, 512), (101, 203)], |random, rows, (v, h)| {
        let w = random.matrix(Elem::Bf16, v, h);
        // The last token of the table is among them.
        let tokens: Vec<usize> = (0..rows).map(|t| if t == 0 { v - 1 } else { random.below(v) }).collect();
        let row = |(position, token): (usize, &usize)| Row { slot: 0, position, token: *token as u32, sample: true };
        let step = StepRows::new(tokens.iter().enumerate().map(row).collect(), vec![vec![0]]);
        Case::of(format!("table of {v} × {h}"), step)
            .weight("w", &w)
            .gives("y", Rule::Exact, Matrix::of(rows, h, |t, n| w.at(tokens[t], n)))
    })
}
