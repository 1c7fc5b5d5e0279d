//! `y = r + x · Wᵀ + bias`.

use mpk_runtime::check::{Case, Matrix, Rule, over};
use mpk_runtime::shape::Elem;

pub fn cases() -> Vec<Case> {
    over(&[(64, 32, false), (1024, 160, false), (203, 101, true)], |random, rows, (k, n, biased)| {
        let (x, w) = (random.matrix(Elem::Bf16, rows, k), random.matrix(Elem::Bf16, n, k));
        let (bias, r) = (random.matrix(Elem::Bf16, n, 1), random.matrix(Elem::F32, rows, n));
        let y = |k: usize, residual: f64| {
            Matrix::of(rows, n, |t, n| {
                let product: f64 = x.row(t)[..k].iter().zip(w.row(n)).map(|(x, w)| x * w).sum();
                residual * r.at(t, n) + product + if biased { bias.at(n, 0) } else { 0.0 }
            })
        };
        let case = Case::new(format!("{k} to {n}, bias {biased}"), rows)
            .input("x", Elem::Bf16, &x)
            .input("r", Elem::F32, &r)
            .weight("w", &w)
            .gives("y", Rule::Close(n), y(k, 1.0))
            .not("the last step of 16 inputs", y(k - 16, 1.0))
            .not("the residual", y(k, 0.0));
        if biased { case.weight("bias", &bias) } else { case }
    })
}
