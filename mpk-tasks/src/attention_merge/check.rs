//! A softmax over splits, each of which comes with its maximum and the sum of its weights.

use mpk_runtime::check::{Case, Matrix, Rule, over};
use mpk_runtime::shape::Elem;

const SPLITS: usize = 16;

pub fn cases() -> Vec<Case> {
    over(&[(4, 4, 64), (8, 2, 128), (5, 1, 48)], |random, rows, (heads, kv_heads, d)| {
        let group = heads / kv_heads;
        // Blocks of one query head in one split: values, maximum, sum of weights.
        let cols = SPLITS * heads * (d + 2);
        let mut part = random.matrix(Elem::F32, rows, cols);
        let at = |head: usize, split: usize| ((head / group * SPLITS + split) * group + head % group) * (d + 2);
        for t in 0..rows {
            for (head, split) in (0..heads).flat_map(|head| (0..SPLITS).map(move |split| (head, split))) {
                let block = &mut part.row_mut(t)[at(head, split)..][..d + 2];
                // The first splits are empty in some rows; the last never is.
                if split < t % SPLITS {
                    block.fill(0.0);
                    block[d] = f64::NEG_INFINITY;
                } else {
                    block[d + 1] = 1.0 + random.below(100) as f64;
                    block[..d].iter_mut().for_each(|v| *v = f64::from((*v * 20.0) as f32));
                }
            }
        }
        let y = |splits: usize| {
            Matrix::of(rows, heads * d, |t, n| {
                let blocks = || (0..splits).map(|split| &part.row(t)[at(n / d, split)..][..d + 2]);
                let sum: f64 = blocks().map(|b| b[d].exp() * b[n % d]).sum();
                sum / blocks().map(|b| b[d].exp() * b[d + 1]).sum::<f64>()
            })
        };
        Case::new(format!("{heads} heads of {d}, {kv_heads} keys"), rows)
            .symbol("Q", heads * d)
            .symbol("KV", kv_heads * d)
            .param("head_dim", d)
            .input("part", Elem::F32, &part)
            .gives("y", Rule::Close(d), y(SPLITS))
            .not("the last split", y(SPLITS - 1))
    })
}
