//! Attention by splits: each split against its definition, all of them together against a plain softmax, and what the cache holds
//! after each of two steps.

use mpk_runtime::check::{Case, Matrix, Random, Rule, over};
use mpk_runtime::bf16;
use mpk_runtime::rope::{Rope, RopeScaling};
use mpk_runtime::shape::Elem;
use mpk_runtime::step::{Row, StepRows};

const SPLITS: usize = 16;
const PAGE: usize = 64;
const CONTEXT: usize = 704;
const SLOTS: usize = 3;
const THETA: f64 = 10_000.0;
const EPS: f64 = 1e-6;

/// Sizes of an attention, and its weights.
struct Attention {
    heads: usize,
    kv_heads: usize,
    d: usize,
    norms: Option<[Matrix; 2]>,
}

impl Attention {
    fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    /// Row `row` of the cache, one of `d` features: a page has the keys of each head before the values.
    fn cache_row(&self, pages: &[usize], position: usize, head: usize) -> usize {
        (pages[position / PAGE] * 2 * self.kv_heads + head) * PAGE + position % PAGE
    }

    /// A head, normed and rotated: pairs of features lie half a head apart.
    fn rotated(&self, head: &[f64], norm: usize, position: usize) -> Vec<f64> {
        let mut x = head.to_vec();
        if let Some(norms) = &self.norms {
            let mean = x.iter().map(|v| v * v).sum::<f64>() / self.d as f64;
            x.iter_mut().enumerate().for_each(|(i, v)| *v *= norms[norm].at(i, 0) / (mean + EPS).sqrt());
        }
        let half = self.d / 2;
        (0..self.d)
            .map(|i| {
                let angle = position as f64 * THETA.powf(-((i % half) as f64) / half as f64);
                let turned = if i < half { -x[i + half] } else { x[i - half] };
                x[i] * angle.cos() + turned * angle.sin()
            })
            .collect()
    }

    /// Head `h` of a row of `qkv`, counted over queries, keys and values.
    fn head<'a>(&self, qkv: &'a Matrix, t: usize, h: usize) -> &'a [f64] {
        &qkv.row(t)[h * self.d..(h + 1) * self.d]
    }

    /// The key as the cache holds it.
    fn key(&self, qkv: &Matrix, t: usize, h: usize, position: usize) -> Vec<f64> {
        let key = self.rotated(self.head(qkv, t, self.heads + h), 1, position);
        key.into_iter().map(|v| bf16::from_f64(v).to_f64()).collect()
    }

    /// The cache after a step.
    fn appended(&self, cache: &Matrix, qkv: &Matrix, step: &Step) -> Matrix {
        let mut after = cache.clone();
        for (t, row) in step.rows.iter().enumerate() {
            for h in 0..self.kv_heads {
                let at = |head| self.cache_row(&step.pages[row.slot], row.position, head);
                after.row_mut(at(h)).copy_from_slice(&self.key(qkv, t, h, row.position));
                after.row_mut(at(self.kv_heads + h)).copy_from_slice(self.head(qkv, t, self.heads + self.kv_heads + h));
            }
        }
        after
    }

    /// The scores and values that query head `q` of row `t` attends to, each with the split it belongs to.
    fn attended(&self, cache: &Matrix, qkv: &Matrix, step: &Step, t: usize, q: usize) -> Vec<(usize, f64, Vec<f64>)> {
        let (row, h) = (step.rows[t], q / self.group());
        let query = self.rotated(self.head(qkv, t, q), 0, row.position);
        let score = |key: &[f64]| query.iter().zip(key).map(|(q, k)| q * k).sum::<f64>() / (self.d as f64).sqrt();
        let own: Vec<usize> = (0..=t).filter(|p| step.rows[*p].slot == row.slot).collect();
        let cached = step.rows[own[0]].position;
        let run = cached.div_ceil(SPLITS);
        let before = (0..cached).map(|position| {
            let at = |head| cache.row(self.cache_row(&step.pages[row.slot], position, head));
            (position / run, score(at(h)), at(self.kv_heads + h).to_vec())
        });
        let own = own.into_iter().map(|p| {
            let value = self.head(qkv, p, self.heads + self.kv_heads + h).to_vec();
            (SPLITS - 1, score(&self.key(qkv, p, h, step.rows[p].position)), value)
        });
        before.chain(own).collect()
    }
}

/// The rows of a step and where their slots lie in the cache.
struct Step {
    rows: Vec<Row>,
    pages: Vec<Vec<usize>>,
}

impl Step {
    /// `rows` rows over three sequences: one that spans all splits, one at the end of a page, one that is empty.
    fn first(random: &mut Random, rows: usize) -> Step {
        let order = random.shuffled(SLOTS * CONTEXT / PAGE);
        let pages = order.chunks(CONTEXT / PAGE).map(<[usize]>::to_vec).collect();
        let begins = [600, 62, 0];
        let counts = [rows.div_ceil(3), rows / 3, rows - rows.div_ceil(3) - rows / 3];
        Step { rows: rows_of(begins, counts), pages }
    }

    /// The step after this one, a row for each sequence that had rows.
    fn next(&self) -> Step {
        let count = |slot| self.rows.iter().filter(|row| row.slot == slot).count();
        let begins = [600 + count(0), 62 + count(1), count(2)];
        Step { rows: rows_of(begins, [count(0).min(1), count(1).min(1), count(2).min(1)]), pages: self.pages.clone() }
    }

    fn table(&self) -> StepRows {
        StepRows::new(self.rows.clone(), self.pages.clone())
    }
}

fn rows_of(begins: [usize; SLOTS], counts: [usize; SLOTS]) -> Vec<Row> {
    let of = |slot: usize| (0..counts[slot]).map(move |i| Row { slot, position: begins[slot] + i, token: 0, sample: true });
    (0..SLOTS).flat_map(of).collect()
}

/// What a step gives: blocks of values, maximum and weight by key/value head, split and query head of the key.
fn part(a: &Attention, cache: &Matrix, qkv: &Matrix, step: &Step) -> Matrix {
    let mut part = Matrix::of(step.rows.len(), SPLITS * a.heads * (a.d + 2), |_, _| 0.0);
    for t in 0..step.rows.len() {
        for q in 0..a.heads {
            let attended = a.attended(cache, qkv, step, t, q);
            for split in 0..SPLITS {
                let of = || attended.iter().filter(move |(s, ..)| *s == split);
                let max = of().map(|(_, score, _)| *score).fold(f64::NEG_INFINITY, f64::max);
                let (h, g) = (q / a.group(), q % a.group());
                let block = &mut part.row_mut(t)[((h * SPLITS + split) * a.group() + g) * (a.d + 2)..][..a.d + 2];
                for (_, score, value) in of() {
                    block.iter_mut().zip(value).for_each(|(sum, v)| *sum += (score - max).exp() * v);
                    block[a.d + 1] += (score - max).exp();
                }
                block[a.d] = max;
            }
        }
    }
    part
}

/// A plain softmax over all that a row attends to but the last `left_out`.
fn softmax(a: &Attention, cache: &Matrix, qkv: &Matrix, step: &Step, left_out: usize) -> Matrix {
    let mut y = Matrix::of(step.rows.len(), a.heads * a.d, |_, _| 0.0);
    for t in 0..step.rows.len() {
        for q in 0..a.heads {
            let attended = a.attended(cache, qkv, step, t, q);
            let attended = &attended[..attended.len() - left_out];
            let weight: f64 = attended.iter().map(|(_, score, _)| score.exp()).sum();
            for (_, score, value) in attended {
                let out = &mut y.row_mut(t)[q * a.d..][..a.d];
                out.iter_mut().zip(value).for_each(|(sum, v)| *sum += score.exp() / weight * v);
            }
        }
    }
    y
}

/// The splits of a result put together.
fn merged(part: &Matrix, heads: usize, group: usize, d: usize) -> Matrix {
    Matrix::of(part.rows(), heads * d, |t, n| {
        let (h, g) = (n / d / group, n / d % group);
        let blocks = || (0..SPLITS).map(|split| &part.row(t)[((h * SPLITS + split) * group + g) * (d + 2)..][..d + 2]);
        let sum: f64 = blocks().map(|b| b[d].exp() * b[n % d]).sum();
        sum / blocks().map(|b| b[d].exp() * b[d + 1]).sum::<f64>()
    })
}

pub fn cases() -> Vec<Case> {
    let shapes = [(2, 2, 64, false), (8, 2, 64, true), (4, 1, 128, false), (5, 1, 48, true)];
    over(&shapes, |random, rows, (heads, kv_heads, d, normed)| {
        let norms = normed.then(|| [random.matrix(Elem::Bf16, d, 1), random.matrix(Elem::Bf16, d, 1)]);
        let a = Attention { heads, kv_heads, d, norms };
        let rope = Rope { theta: THETA, head_dim: d, scaling: RopeScaling::Default };
        let first = Step::first(random, rows);
        let cache = random.matrix(Elem::Bf16, SLOTS * CONTEXT * 2 * kv_heads, d);
        let mut case = Case::of(format!("{heads} heads of {d}, {kv_heads} keys, norm {normed}"), first.table())
            .cache(SLOTS, CONTEXT)
            .param("head_dim", d)
            .param("rope", rope)
            .param("eps", EPS)
            .state("kv", &cache);
        if let Some([q, k]) = &a.norms {
            case = case.weight("q_norm", q).weight("k_norm", k);
        }
        let second = first.next();
        let mut before = cache;
        for (i, step) in [first, second].iter().enumerate() {
            let qkv = random.matrix(Elem::Bf16, step.rows.len(), (heads + 2 * kv_heads) * d);
            let (plain, short) = (softmax(&a, &before, &qkv, step, 0), softmax(&a, &before, &qkv, step, 1));
            let after = a.appended(&before, &qkv, step);
            let group = a.group();
            case = if i == 0 { case } else { case.then(step.table()) }
                .input("qkv", Elem::Bf16, &qkv)
                .parts(&[heads * d, kv_heads * d, kv_heads * d])
                .gives("part", Rule::Close(d + 2), part(&a, &before, &qkv, step))
                .gives_view("part", move |part| merged(part, heads, group, d), Rule::Close(d), plain)
                .not("its last key", short)
                .leaves("kv", Rule::Close(d), after.clone())
                .not("the append", before);
            before = after;
        }
        case
    })
}
