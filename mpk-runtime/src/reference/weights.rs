//! Views of weights: logical rows, read from the mapped checkpoint without a copy.

use half::bf16;

/// Rows of one tensor, or the share of a rank: `rows × cols` out of rows of `stride` elements.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// The elements from the first row on.
    pub data: &'a [bf16],
    /// Rows.
    pub rows: usize,
    /// Elements from one row to the next.
    pub stride: usize,
    /// First column of this rank's share.
    pub first: usize,
    /// Columns.
    pub cols: usize,
}

/// A weight: pieces stacked by rows. A weight of one dimension has rows of one column.
#[derive(Clone, Debug)]
pub struct Weight<'a> {
    /// Its pieces, in order.
    pub pieces: Vec<Piece<'a>>,
}

impl<'a> Weight<'a> {
    /// Rows (outputs).
    pub fn rows(&self) -> usize {
        self.pieces.iter().map(|p| p.rows).sum()
    }

    /// Columns (inputs); 1 for a vector.
    pub fn cols(&self) -> usize {
        self.pieces.first().map_or(0, |p| p.cols)
    }

    /// Row `n`.
    pub fn row(&self, n: usize) -> &'a [bf16] {
        let mut row = n;
        for piece in &self.pieces {
            if row < piece.rows {
                let start = row * piece.stride + piece.first;
                return &piece.data[start..start + piece.cols];
            }
            row -= piece.rows;
        }
        panic!("row {n} of a weight of {} rows", self.rows())
    }

    /// Element `i` of a vector.
    pub fn get(&self, i: usize) -> f32 {
        self.row(i)[0].to_f32()
    }
}

/// `Σ x[i] · w[i]` in f32, in a fixed order: 32 running sums, then pairwise. The bits are the same on every processor: wider
/// registers hold the same sums, and no multiplication is fused with an addition.
pub fn dot(x: &[f32], w: &[bf16]) -> f32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { dot_avx2(x, w) };
    }
    sum_of_products(x, w)
}

/// [`sum_of_products`] compiled for 256-bit registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dot_avx2(x: &[f32], w: &[bf16]) -> f32 {
    sum_of_products(x, w)
}

#[inline(always)]
fn sum_of_products(x: &[f32], w: &[bf16]) -> f32 {
    const LANES: usize = 32;
    let mut sums = [0f32; LANES];
    let (xs, ws) = (x.chunks_exact(LANES), w.chunks_exact(LANES));
    let tail: f32 = xs.remainder().iter().zip(ws.remainder()).map(|(x, w)| x * w.to_f32()).sum();
    for (x, w) in xs.zip(ws) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * f32::from_bits(u32::from(w[lane].to_bits()) << 16);
        }
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
        width /= 2;
    }
    sums[0] + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_has_the_same_bits_on_every_processor_and_is_close_to_f64() {
        for len in [0, 1, 31, 32, 33, 576, 1537] {
            let x: Vec<f32> = (0..len).map(|i| ((i * 37 % 101) as f32 - 50.0) / 17.0).collect();
            let w: Vec<bf16> = (0..len).map(|i| bf16::from_f32(((i * 53 % 97) as f32 - 48.0) / 31.0)).collect();
            assert_eq!(dot(&x, &w).to_bits(), sum_of_products(&x, &w).to_bits());
            let exact: f64 = x.iter().zip(&w).map(|(x, w)| f64::from(*x) * f64::from(w.to_f32())).sum();
            assert!((f64::from(dot(&x, &w)) - exact).abs() <= 1e-3 * (1.0 + exact.abs()), "{len}");
        }
    }
}
