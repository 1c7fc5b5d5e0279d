//! The same words after the first step and after a second one, in which the task does not run.

use mpk_runtime::check::{Case, Matrix, Rule, over};
use mpk_runtime::step::{Row, StepRows};

pub fn cases() -> Vec<Case> {
    over(&[(1, 7), (64, 1), (203, u32::MAX)], |_, rows, (n, value)| {
        let words = |rows| Matrix::words(rows, n, |_, _| u64::from(value));
        let row = Row { slot: 0, position: rows, token: 0, sample: true };
        Case::new(format!("{n} words of {value}"), rows)
            .param("N", n)
            .param("value", value as usize)
            .gives("y", Rule::Exact, words(rows))
            .then(StepRows::new(vec![row], vec![vec![0]]))
            .gives("y", Rule::Exact, words(1))
    })
}
