//! Seeded numbers, the same on every machine.

use half::bf16;

use super::Matrix;
use crate::shape::Elem;

/// A generator: splitmix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next word.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.word() % end as u64) as usize
    }

    /// A number of mean 0 and variance 1, nearly normal: the sum of four even ones.
    pub fn normal(&mut self) -> f64 {
        let sum: f64 = (0..4).map(|_| (self.word() >> 11) as f64 / (1u64 << 53) as f64 - 0.5).sum();
        sum * 3f64.sqrt()
    }

    /// `rows × cols` numbers that `elem` holds exactly.
    pub fn matrix(&mut self, elem: Elem, rows: usize, cols: usize) -> Matrix {
        Matrix::of(rows, cols, |_, _| match elem {
            Elem::Bf16 => bf16::from_f64(self.normal()).to_f64(),
            _ => f64::from(self.normal() as f32),
        })
    }

    /// The numbers below `end` in some order.
    pub fn shuffled(&mut self, end: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..end).collect();
        for i in (1..end).rev() {
            all.swap(i, self.below(i + 1));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_and_repeat_with_their_seed() {
        let (mut a, mut b) = (Random::new(7), Random::new(7));
        let numbers: Vec<f64> = (0..4000).map(|_| a.normal()).collect();
        assert!(numbers.iter().all(|v| *v == b.normal()));
        let mean = numbers.iter().sum::<f64>() / 4000.0;
        let variance = numbers.iter().map(|v| v * v).sum::<f64>() / 4000.0;
        assert!(mean.abs() < 0.05 && (variance - 1.0).abs() < 0.1, "{mean} {variance}");
        let mut order = a.shuffled(50);
        assert_ne!(order, (0..50).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..50).collect::<Vec<_>>());
    }
}
