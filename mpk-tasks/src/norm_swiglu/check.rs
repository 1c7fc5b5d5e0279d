//! `y = gate / (1 + e^-gate) · up`, the halves of `x / sqrt(mean(x²) + eps) · norm · Wᵀ + bias`.

use mpk_runtime::check::{Case, Matrix, Rule, over};
use mpk_runtime::shape::Elem;

const EPS: f64 = 1e-5;

pub fn cases() -> Vec<Case> {
    over(&[(64, 32, false), (1024, 160, false), (203, 101, true)], |random, rows, (k, i, biased)| {
        let (x, w) = (random.matrix(Elem::F32, rows, k), random.matrix(Elem::Bf16, 2 * i, k));
        let (norm, bias) = (random.matrix(Elem::Bf16, k, 1), random.matrix(Elem::Bf16, 2 * i, 1));
        let half = |inputs: usize, t: usize, n: usize| {
            let mean = x.row(t).iter().map(|v| v * v).sum::<f64>() / k as f64;
            let product: f64 = (0..inputs).map(|k| x.at(t, k) * norm.at(k, 0) * w.at(n, k)).sum();
            product / (mean + EPS).sqrt() + if biased { bias.at(n, 0) } else { 0.0 }
        };
        let silu = |inputs: usize, t: usize, n: usize| {
            let gate = half(inputs, t, n);
            gate / (1.0 + (-gate).exp())
        };
        let case = Case::new(format!("{k} to {i}, bias {biased}"), rows)
            .input("x", Elem::F32, &x)
            .weight("norm", &norm)
            .stacked("w", &w, &[i, i])
            .param("eps", EPS)
            .gives("y", Rule::Close(i), Matrix::of(rows, i, |t, n| silu(k, t, n) * half(k, t, i + n)))
            .not("the last step of 16 inputs", Matrix::of(rows, i, |t, n| silu(k - 16, t, n) * half(k - 16, t, i + n)))
            .not("up", Matrix::of(rows, i, |t, n| silu(k, t, n)));
        if biased { case.stacked("bias", &bias, &[i, i]) } else { case }
    })
}
