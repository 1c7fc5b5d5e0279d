//! `y = x / sqrt(mean(x²) + eps) · norm · Wᵀ + bias`.

use mpk_runtime::check::{Case, Matrix, Rule, over};
use mpk_runtime::shape::Elem;

pub fn cases() -> Vec<Case> {
    // The last has values so small that `eps` decides.
    let shapes = [(64, 32, false, 1.0, Elem::Bf16), (1024, 160, true, 30.0, Elem::F32), (203, 101, true, 1e-3, Elem::Bf16)];
    over(&shapes, |random, rows, (k, n, biased, size, elem)| {
        let (x, w) = (random.matrix(Elem::F32, rows, k), random.matrix(Elem::Bf16, n, k));
        let x = Matrix::of(rows, k, |t, k| f64::from((size * x.at(t, k)) as f32));
        let (norm, bias) = (random.matrix(Elem::Bf16, k, 1), random.matrix(Elem::Bf16, n, 1));
        let y = |inputs: usize, squares: usize, eps: f64| {
            Matrix::of(rows, n, |t, n| {
                let mean = x.row(t)[..squares].iter().map(|v| v * v).sum::<f64>() / k as f64;
                let product: f64 = (0..inputs).map(|k| x.at(t, k) * norm.at(k, 0) * w.at(n, k)).sum();
                product / (mean + eps).sqrt() + if biased { bias.at(n, 0) } else { 0.0 }
            })
        };
        let case = Case::new(format!("{k} of size {size} to {n} in {}, bias {biased}", elem.name()), rows)
            .input("x", Elem::F32, &x)
            .weight("norm", &norm)
            .weight("w", &w)
            .param("eps", 1e-6)
            .param("y", elem)
            .gives("y", Rule::Close(n), y(k, k, 1e-6))
            .not("the last step of 16 inputs", y(k - 16, k, 1e-6))
            .not("the last eighth in its mean", y(k, k - k / 8, 1e-6));
        let case = if size < 1.0 { case.not("eps", y(k, k, 0.0)) } else { case };
        if biased { case.weight("bias", &bias) } else { case }
    })
}
