//! Rows of numbers, in a type that holds all element types exactly.

use bytemuck::{NoUninit, Pod};
use half::bf16;

use crate::shape::Elem;

/// Rows of columns, row-major. A `u64` counts as two columns, its upper and its lower half.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    cols: usize,
    data: Vec<f64>,
}

impl Matrix {
    /// Element `(t, n)` is `value(t, n)`, asked for in the order of memory.
    pub fn of(rows: usize, cols: usize, mut value: impl FnMut(usize, usize) -> f64) -> Matrix {
        let mut data = Vec::with_capacity(rows * cols);
        for t in 0..rows {
            data.extend((0..cols).map(|n| value(t, n)));
        }
        Matrix { cols, data }
    }

    /// Rows of `u64` words.
    pub fn words(rows: usize, features: usize, mut word: impl FnMut(usize, usize) -> u64) -> Matrix {
        let mut data = Vec::with_capacity(2 * rows * features);
        for t in 0..rows {
            data.extend((0..features).flat_map(|n| halves(word(t, n))));
        }
        Matrix { cols: 2 * features, data }
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.data.len() / self.cols.max(1)
    }

    /// Columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Element `n` of row `t`.
    pub fn at(&self, t: usize, n: usize) -> f64 {
        self.row(t)[n]
    }

    /// Row `t`.
    pub fn row(&self, t: usize) -> &[f64] {
        &self.data[t * self.cols..(t + 1) * self.cols]
    }

    /// Row `t`, to change it.
    pub fn row_mut(&mut self, t: usize) -> &mut [f64] {
        &mut self.data[t * self.cols..(t + 1) * self.cols]
    }

    /// All elements.
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// The bytes of these numbers as `elem`.
    pub(super) fn encode(&self, elem: Elem) -> Vec<u8> {
        fn bytes<T: NoUninit>(values: impl Iterator<Item = T>) -> Vec<u8> {
            bytemuck::cast_slice(&values.collect::<Vec<T>>()).to_vec()
        }
        let values = self.data.iter().copied();
        match elem {
            Elem::Bf16 => bytes(values.map(bf16::from_f64)),
            Elem::F32 => bytes(values.map(|v| v as f32)),
            Elem::U32 => bytes(values.map(|v| v as u32)),
            Elem::U64 => bytes(self.data.chunks(2).map(|half| (half[0] as u64) << 32 | half[1] as u64)),
        }
    }

    /// Rows of `features` elements out of their bytes.
    pub(super) fn decode(elem: Elem, features: usize, bytes: &[u8]) -> Matrix {
        fn values<T: Pod>(bytes: &[u8]) -> impl Iterator<Item = T> + '_ {
            bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned)
        }
        let (cols, data) = match elem {
            Elem::Bf16 => (features, values::<bf16>(bytes).map(bf16::to_f64).collect()),
            Elem::F32 => (features, values::<f32>(bytes).map(f64::from).collect()),
            Elem::U32 => (features, values::<u32>(bytes).map(f64::from).collect()),
            Elem::U64 => (2 * features, values::<u64>(bytes).flat_map(halves).collect()),
        };
        Matrix { cols, data }
    }
}

fn halves(word: u64) -> [f64; 2] {
    [(word >> 32) as f64, f64::from(word as u32)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_type_comes_back_exactly() {
        let floats = Matrix::of(2, 3, |t, n| (t * 3 + n) as f64 - 2.5);
        for elem in [Elem::Bf16, Elem::F32] {
            assert_eq!(Matrix::decode(elem, 3, &floats.encode(elem)), floats);
        }
        let words = Matrix::words(2, 2, |t, n| u64::MAX - (t * 7 + n) as u64);
        assert_eq!((words.rows(), words.cols()), (2, 4));
        assert_eq!(Matrix::decode(Elem::U64, 2, &words.encode(Elem::U64)), words);
    }
}
