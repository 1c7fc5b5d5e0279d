//! The arithmetic of the reference: how a sequence is split, and the running softmax.

use std::ops::Range;

use mpk_runtime::bf16;
use mpk_runtime::reference::{Weight, rms_scale};
use mpk_runtime::rope::RopeTable;

/// Splits of a sequence.
pub const SPLITS: usize = 16;

/// The cached positions of split `split`.
pub fn positions(cached: usize, split: usize) -> Range<usize> {
    let run = cached.div_ceil(SPLITS);
    (split * run).min(cached)..((split + 1) * run).min(cached)
}

/// What the heads of an attention have in common.
pub struct Head<'a> {
    pub width: usize,
    pub kv_heads: usize,
    /// Query heads of a key/value head.
    pub group: usize,
    pub rope: &'a RopeTable,
    pub eps: f32,
}

impl Head<'_> {
    /// Head `h` of a part of the row.
    pub fn slice<'r>(&self, row: &'r [f32], h: usize) -> &'r [f32] {
        &row[h * self.width..(h + 1) * self.width]
    }

    /// Query head `h`, normed and rotated, scaled by `1 / sqrt(width)`.
    pub fn query(&self, row: &[f32], h: usize, norm: Option<&Weight<'_>>, position: usize) -> Vec<f32> {
        let scale = 1.0 / (self.width as f32).sqrt();
        self.rotated(self.slice(row, h), norm, position).into_iter().map(|v| v * scale).collect()
    }

    /// Key head `h`, normed and rotated, as the cache holds it.
    pub fn key(&self, row: &[f32], h: usize, norm: Option<&Weight<'_>>, position: usize) -> Vec<f32> {
        self.rotated(self.slice(row, h), norm, position).into_iter().map(|v| bf16::from_f32(v).to_f32()).collect()
    }

    /// `query · key`.
    pub fn score(&self, query: &[f32], key: &[f32]) -> f32 {
        query.iter().zip(key).map(|(q, k)| q * k).sum()
    }

    fn rotated(&self, head: &[f32], norm: Option<&Weight<'_>>, position: usize) -> Vec<f32> {
        let mut head = head.to_vec();
        if let Some(norm) = norm {
            let scale = rms_scale(&head, self.eps);
            for (i, v) in head.iter_mut().enumerate() {
                *v *= scale * norm.get(i);
            }
        }
        let (cos, sin) = self.rope.at(position);
        let half = self.width / 2;
        for i in 0..half {
            let (a, b) = (head[i], head[i + half]);
            head[i] = a * cos[i] - b * sin[i];
            head[i + half] = b * cos[i] + a * sin[i];
        }
        head
    }
}

/// A softmax-weighted sum of values that is still being added to.
#[derive(Clone)]
pub struct Sum {
    values: Vec<f32>,
    max: f32,
    weight: f32,
}

impl Sum {
    /// Of nothing, for values of `width` features.
    pub fn new(width: usize) -> Self {
        Sum { values: vec![0.0; width], max: f32::NEG_INFINITY, weight: 0.0 }
    }

    /// Adds a value by its score.
    pub fn add(&mut self, score: f32, value: &[f32]) {
        if score > self.max {
            let shrink = (self.max - score).exp();
            self.values.iter_mut().for_each(|v| *v *= shrink);
            self.weight *= shrink;
            self.max = score;
        }
        let weight = (score - self.max).exp();
        self.values.iter_mut().zip(value).for_each(|(sum, v)| *sum += weight * v);
        self.weight += weight;
    }

    /// The features as the task gives them: values, maximum, weight.
    pub fn features(&self) -> impl Iterator<Item = f32> + '_ {
        self.values.iter().copied().chain([self.max, self.weight])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_cover_every_position_once_and_depend_on_the_length_only() {
        for cached in [0, 1, 63, 64, 65, 511, 512, 513, 4096, 100_000] {
            let mut next = 0;
            for split in 0..SPLITS {
                let range = positions(cached, split);
                assert_eq!(range.start, next.min(cached));
                next = range.end.max(next);
            }
            assert_eq!(next, cached);
        }
    }
}
