//! When a result is the one that a definition gives.

use serde::Serialize;

use super::Matrix;

/// Least cosine between a row and its definition.
const COSINE: f64 = 0.9999;
/// Most that an element of a row may be off, as a share of the row's largest.
const ERROR: f64 = 1e-2;

/// How a result is compared with its definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Bit by bit: copies and indices.
    Exact,
    /// By runs of so many columns, each by cosine and largest error.
    Close(usize),
}

/// The worst figures of a comparison that passed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// The largest error, as a share of the largest element of its row; at most 0.01.
    pub error: f64,
    /// The least cosine; at least 0.9999.
    pub cosine: f64,
}

impl Figures {
    /// Those of equal bits.
    pub const EXACT: Figures = Figures { error: 0.0, cosine: 1.0 };

    /// The worse of both.
    pub fn or(self, other: Figures) -> Figures {
        Figures { error: self.error.max(other.error), cosine: self.cosine.min(other.cosine) }
    }
}

/// Compares a result with its definition.
///
/// # Errors
/// Where and by how much it differs first.
pub fn compare(result: &Matrix, definition: &Matrix, rule: Rule) -> Result<Figures, String> {
    let shape = |m: &Matrix| (m.rows(), m.cols());
    if shape(result) != shape(definition) {
        return Err(format!("{:?} rows and columns, the definition has {:?}", shape(result), shape(definition)));
    }
    let mut worst = Figures::EXACT;
    for t in 0..result.rows() {
        let (a, b) = (result.row(t), definition.row(t));
        if let Some(n) = (0..a.len()).find(|n| a[*n].is_nan() && !b[*n].is_nan()) {
            return Err(format!("row {t}, column {n} is NaN, the definition gives {}", b[n]));
        }
        match rule {
            Rule::Exact => {
                if let Some(n) = (0..a.len()).find(|n| a[*n].to_bits() != b[*n].to_bits()) {
                    return Err(format!("row {t}, column {n} is {}, the definition gives {}", a[n], b[n]));
                }
            }
            Rule::Close(run) => {
                let runs = a.chunks(run.max(1)).zip(b.chunks(run.max(1))).enumerate();
                for (i, (a, b)) in runs {
                    worst = worst.or(close(a, b).map_err(|what| format!("row {t}, columns from {}: {what}", i * run))?);
                }
            }
        }
    }
    Ok(worst)
}

/// Compares a run of columns. Equal elements, infinities among them, are no error whatever the others are.
fn close(a: &[f64], b: &[f64]) -> Result<Figures, String> {
    let (mut dot, mut aa, mut bb) = (0.0, 0.0, 0.0);
    let (mut off, mut largest) = (0f64, 0f64);
    for (x, y) in a.iter().zip(b) {
        if x == y && x.is_infinite() {
            continue;
        }
        (dot, aa, bb) = (dot + x * y, aa + x * x, bb + y * y);
        // Not `f64::max`, which passes over NaN.
        let error = (x - y).abs();
        off = if error > off || error.is_nan() { error } else { off };
        largest = largest.max(y.abs());
    }
    if off == 0.0 {
        return Ok(Figures::EXACT);
    }
    let figures = Figures { error: off / largest, cosine: dot / (aa * bb).sqrt() };
    // Written so that NaN holds no bound.
    if figures.error <= ERROR && figures.cosine >= COSINE {
        Ok(figures)
    } else {
        Err(format!("off by {:.2e} of the largest, cosine {:.6}", figures.error, figures.cosine))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[f64]) -> Matrix {
        Matrix::of(1, values.len(), |_, n| values[n])
    }

    #[test]
    fn close_means_error_and_cosine() {
        let b = row(&[100.0, -50.0, 1.0]);
        let with = |v: f64| compare(&row(&[100.0, -50.0, v]), &b, Rule::Close(3));
        assert_eq!(with(1.0), Ok(Figures::EXACT));
        assert!(with(1.9).unwrap().error > 0.008);
        assert!(with(2.1).is_err() && with(f64::NAN).is_err() && with(f64::INFINITY).is_err());
        // Each run is held against its own largest element.
        assert!(compare(&row(&[100.0, -50.0, 1.9]), &b, Rule::Close(1)).is_err());
        // A scale that the largest error would let pass still has a cosine of 1, and many small errors do not.
        let long = Matrix::of(1, 1000, |_, n| if n == 0 { 1.0 } else { 0.0 });
        let noisy = Matrix::of(1, 1000, |_, n| if n == 0 { 1.0 } else { 0.005 });
        assert!(compare(&noisy, &long, Rule::Close(1000)).unwrap_err().contains("cosine"));
    }

    #[test]
    fn infinities_and_zeros_are_equal_or_wrong() {
        let b = row(&[0.0, f64::NEG_INFINITY]);
        assert!(compare(&b, &b, Rule::Close(2)).is_ok());
        assert!(compare(&row(&[1e-9, f64::NEG_INFINITY]), &b, Rule::Close(2)).is_err());
        assert!(compare(&row(&[0.0, -1e30]), &b, Rule::Close(2)).is_err());
    }

    #[test]
    fn exact_means_bits() {
        let b = row(&[1.0, 0.0]);
        assert!(compare(&b, &b, Rule::Exact).is_ok());
        assert!(compare(&row(&[1.0, -0.0]), &b, Rule::Exact).is_err());
        assert!(compare(&row(&[1.0]), &b, Rule::Exact).is_err());
    }
}
