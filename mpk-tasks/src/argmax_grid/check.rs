//! The index of the largest value of each row, in two steps, and the count of instances after each.

use mpk_runtime::check::{Case, Matrix, Random, Rule, WORKERS, over};
use mpk_runtime::shape::Elem;
use mpk_runtime::step::{Row, StepRows};

/// The first of the largest of the first `len` values of each row.
fn tokens(x: &Matrix, len: usize) -> Matrix {
    Matrix::of(x.rows(), 1, |t, _| {
        let row = &x.row(t)[..len];
        let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        row.iter().position(|v| *v == largest).unwrap_or(0) as f64
    })
}

fn logits(random: &mut Random, rows: usize, v: usize) -> Matrix {
    let mut x = random.matrix(Elem::F32, rows, v);
    for t in 0..rows {
        // The last value is the largest of the first row; elsewhere two are, of which the first counts.
        let (one, other) = if t == 0 { (v - 1, v - 1) } else { (1 + random.below(v - 1), 1 + random.below(v - 1)) };
        (x.row_mut(t)[one], x.row_mut(t)[other]) = (9.0, 9.0);
    }
    x
}

pub fn cases() -> Vec<Case> {
    over(&[3, 512, 1003], |random, rows, v| {
        let (first, second) = (logits(random, rows, v), logits(random, 1, v));
        let seen = |steps: usize| Matrix::words(1, 1, |_, _| (steps * WORKERS) as u64);
        let row = Row { slot: 0, position: rows, token: 0, sample: true };
        Case::new(format!("{v} logits"), rows)
            .input("x", Elem::F32, &first)
            .gives("y", Rule::Exact, tokens(&first, v))
            .not("the last value", tokens(&first, v - 1))
            .leaves("seen", Rule::Exact, seen(1))
            .then(StepRows::new(vec![row], vec![vec![0]]))
            .input("x", Elem::F32, &second)
            .gives("y", Rule::Exact, tokens(&second, v))
            .leaves("seen", Rule::Exact, seen(2))
            .not("the second step", seen(1))
    })
}
