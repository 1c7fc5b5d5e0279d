//! Arithmetic that several references share.

use half::bf16;

use super::Weight;

/// `1 / sqrt(mean(x²) + eps)`, the sum in f64, so that its rounding does not show in f32.
pub fn rms_scale(x: &[f32], eps: f32) -> f32 {
    let sum: f64 = x.iter().map(|v| f64::from(*v) * f64::from(*v)).sum();
    1.0 / ((sum / x.len() as f64) as f32 + eps).sqrt()
}

/// A row as a fused norm takes it: `x · norm` as bf16, and the scale that the sums over it are multiplied by.
pub fn normed(x: &[f32], norm: &Weight, eps: f32) -> (Vec<f32>, f32) {
    let gained = x.iter().enumerate().map(|(k, v)| bf16::from_f32(v * norm.get(k)).to_f32());
    (gained.collect(), rms_scale(x, eps))
}

/// A word that orders as (value, lowest index first): the larger of two is the larger value or, on ties, the lower index. NaN is
/// below all numbers.
///
/// The high half is the value's bits made to order as unsigned integers (negative numbers inverted, positive ones with the
/// sign bit set), the low half the inverted index.
pub fn rank_key(value: f32, index: usize) -> u64 {
    let bits = value.to_bits();
    let ordered = match (value.is_nan(), bits >> 31) {
        (true, _) => 0,
        (false, 0) => bits | 1 << 31,
        (false, _) => !bits,
    };
    u64::from(ordered) << 32 | u64::from(!(index as u32))
}

/// The index in a [`rank_key`].
pub fn rank_index(key: u64) -> u32 {
    !(key as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_as_values_and_prefer_the_lowest_index() {
        let values = [f32::NAN, f32::NEG_INFINITY, -3.5, -1e-30, 0.0, 1e-30, 2.0, f32::INFINITY];
        assert!(values.windows(2).all(|v| rank_key(v[0], 7) < rank_key(v[1], 7)));
        assert!(rank_key(1.0, 3) > rank_key(1.0, 4));
        assert_eq!(rank_index(rank_key(-2.0, 151_935)), 151_935);
    }
}
