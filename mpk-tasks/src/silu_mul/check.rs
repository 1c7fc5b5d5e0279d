//! `y = gate / (1 + e^-gate) · up`.

use mpk_runtime::check::{Case, Matrix, Rule, over};
use mpk_runtime::shape::Elem;

pub fn cases() -> Vec<Case> {
    over(&[64, 512, 1003], |random, rows, i| {
        let mut x = random.matrix(Elem::Bf16, rows, 2 * i);
        // The exponential of this one is infinite.
        x.row_mut(rows - 1)[i / 2] = -100.0;
        let silu = |t, n| x.at(t, n) / (1.0 + (-x.at(t, n)).exp());
        Case::new(format!("{i} features"), rows)
            .input("x", Elem::Bf16, &x)
            .parts(&[i, i])
            .gives("y", Rule::Close(i), Matrix::of(rows, i, |t, n| silu(t, n) * x.at(t, i + n)))
            .not("up", Matrix::of(rows, i, silu))
    })
}
