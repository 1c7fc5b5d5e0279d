//! `y = x / sqrt(mean(x²) + eps) · norm`.

use mpk_runtime::check::{Case, Matrix, Rule, over};
use mpk_runtime::shape::Elem;

pub fn cases() -> Vec<Case> {
    // The last has values so small that `eps` decides.
    over(&[(64, 1.0, 1e-6), (4096, 30.0, 1e-5), (1003, 1e-3, 1e-6)], |random, rows, (h, scale, eps)| {
        let x = random.matrix(Elem::F32, rows, h);
        let x = Matrix::of(rows, h, |t, n| f64::from((scale * x.at(t, n)) as f32));
        let norm = random.matrix(Elem::Bf16, h, 1);
        let y = |summed: usize, eps: f64| {
            Matrix::of(rows, h, |t, n| {
                let mean = x.row(t)[..summed].iter().map(|v| v * v).sum::<f64>() / h as f64;
                x.at(t, n) / (mean + eps).sqrt() * norm.at(n, 0)
            })
        };
        let case = Case::new(format!("{h} features of size {scale}"), rows)
            .input("x", Elem::F32, &x)
            .weight("norm", &norm)
            .param("eps", eps)
            .gives("y", Rule::Close(h), y(h, eps))
            .not("the last eighth in its mean", y(h - h / 8, eps));
        if scale < 1.0 { case.not("eps", y(h, 0.0)) } else { case }
    })
}
