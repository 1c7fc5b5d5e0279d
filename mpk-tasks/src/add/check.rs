//! `y = r + x`.

use mpk_runtime::check::{Case, Matrix, Rule, over};
use mpk_runtime::shape::Elem;

pub fn cases() -> Vec<Case> {
    over(&[(64, Elem::Bf16), (512, Elem::F32), (1003, Elem::Bf16)], |random, rows, (h, elem)| {
        let (x, r) = (random.matrix(elem, rows, h), random.matrix(Elem::F32, rows, h));
        let y = Matrix::of(rows, h, |t, n| r.at(t, n) + x.at(t, n));
        Case::new(format!("{h} features, x in {}", elem.name()), rows)
            .input("x", elem, &x)
            .input("r", Elem::F32, &r)
            .gives("y", Rule::Close(h), y)
            .not("x", r)
    })
}
