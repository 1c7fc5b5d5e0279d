//! `y = x · Wᵀ + bias`.

use mpk_runtime::check::{Case, Matrix, Rule, over};
use mpk_runtime::shape::Elem;

pub fn cases() -> Vec<Case> {
    let shapes = [(64, 32, false, Elem::Bf16), (1024, 160, true, Elem::F32), (203, 101, true, Elem::Bf16)];
    over(&shapes, |random, rows, (k, n, biased, elem)| {
        let (x, w) = (random.matrix(Elem::Bf16, rows, k), random.matrix(Elem::Bf16, n, k));
        let bias = random.matrix(Elem::Bf16, n, 1);
        let y = |k: usize| {
            Matrix::of(rows, n, |t, n| {
                let product: f64 = x.row(t)[..k].iter().zip(w.row(n)).map(|(x, w)| x * w).sum();
                product + if biased { bias.at(n, 0) } else { 0.0 }
            })
        };
        let case = Case::new(format!("{k} to {n} in {}, bias {biased}", elem.name()), rows)
            .input("x", Elem::Bf16, &x)
            .weight("w", &w)
            .param("y", elem)
            .gives("y", Rule::Close(n), y(k))
            .not("the last step of 16 inputs", y(k - 16));
        if biased { case.weight("bias", &bias) } else { case }
    })
}
