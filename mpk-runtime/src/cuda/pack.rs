//! Fragment order: how matrices lie on the device.
//!
//! The unit is one A fragment of `mma.m16n8k16`: 16 rows × 16 inputs, 512 bytes, of which lane `l` holds the 16 bytes at `16 * l`.
//! The units of a strip of 16 rows are contiguous over the inputs, the strips follow each other. What the matrix lacks to
//! whole units is zero, so that it adds nothing to a sum. One order serves every kernel and every cut into tiles.

use half::bf16;

/// Rows of a strip, and inputs of a unit.
pub const UNIT: usize = 16;
/// Elements of a unit.
pub const UNIT_LEN: usize = UNIT * UNIT;

/// Elements of a packed matrix.
pub fn packed_len(rows: usize, cols: usize) -> usize {
    rows.div_ceil(UNIT) * strip_len(cols)
}

/// Elements of a packed strip.
pub fn strip_len(cols: usize) -> usize {
    cols.div_ceil(UNIT) * UNIT_LEN
}

/// Where element (`row`, `col`) of a matrix of `cols` columns lies.
pub fn index(row: usize, col: usize, cols: usize) -> usize {
    let unit = row / UNIT * cols.div_ceil(UNIT) + col / UNIT;
    unit * UNIT_LEN + unit_index(row % UNIT, col % UNIT)
}

/// The place inside a unit. PTX ISA, `mma.m16n8k16`, matrix A: the lane of group `g = row % 8` and thread `(col % 8) / 2` holds 8
/// elements `a0..a7` in the order (row half, then column half), in pairs of neighbouring columns.
const fn unit_index(row: usize, col: usize) -> usize {
    let lane = row % 8 * 4 + col % 8 / 2;
    let element = col / 8 * 4 + row / 8 * 2 + col % 2;
    lane * 8 + element
}

/// Packs rows into `out`, which holds whole strips, from strip `first` on: `row(n)` is what lies at row `n` of all strips, none for
/// zeros. All cores take part.
///
/// # Panics
/// If `out` is no whole number of strips.
pub fn pack<'a>(row: &(dyn Fn(usize) -> Option<&'a [bf16]> + Sync), cols: usize, first: usize, out: &mut [bf16]) {
    let strip = strip_len(cols);
    assert!(strip > 0 && out.len().is_multiple_of(strip), "{} elements are no whole strips of {strip}", out.len());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let strips = (out.len() / strip).div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        for (i, part) in out.chunks_mut(strips * strip).enumerate() {
            scope.spawn(move || {
                for (s, strip) in part.chunks_exact_mut(strip).enumerate() {
                    pack_strip(row, cols, (first + i * strips + s) * UNIT, strip);
                }
            });
        }
    });
}

fn pack_strip<'a>(row: &(dyn Fn(usize) -> Option<&'a [bf16]> + Sync), cols: usize, first_row: usize, out: &mut [bf16]) {
    out.fill(bf16::ZERO);
    for r in 0..UNIT {
        for (unit, inputs) in row(first_row + r).unwrap_or_default().chunks(UNIT).enumerate().take(cols.div_ceil(UNIT)) {
            for (c, value) in inputs.iter().enumerate() {
                out[unit * UNIT_LEN + unit_index(r, c)] = *value;
            }
        }
    }
}

/// The matrix of `rows × cols` in a packed one, row-major.
pub fn unpack(packed: &[bf16], rows: usize, cols: usize) -> Vec<bf16> {
    (0..rows).flat_map(|r| (0..cols).map(move |c| packed[index(r, c, cols)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A different value at every place, none of them zero.
    fn matrix(rows: usize, cols: usize) -> Vec<bf16> {
        (0..rows * cols).map(|i| bf16::from_bits(i as u16 % 0x7f00 + 1)).collect()
    }

    fn packed(values: &[bf16], rows: usize, cols: usize) -> Vec<bf16> {
        let mut out = vec![bf16::ONE; packed_len(rows, cols)];
        pack(&|n| (n < rows).then(|| &values[n * cols..(n + 1) * cols]), cols, 0, &mut out);
        out
    }

    #[test]
    fn any_size_comes_back_and_the_rest_is_zero() {
        for (rows, cols) in [(1, 1), (16, 16), (17, 31), (5, 513), (33, 8), (47, 100), (160, 48), (15, 17)] {
            let values = matrix(rows, cols);
            let packed = packed(&values, rows, cols);
            assert_eq!(unpack(&packed, rows, cols), values, "{rows}×{cols}");
            assert_eq!(packed.iter().filter(|v| v.to_bits() != 0).count(), rows * cols, "{rows}×{cols}");
        }
    }

    #[test]
    fn strips_can_be_packed_one_by_one() {
        let (rows, cols) = (50, 20);
        let values = matrix(rows, cols);
        let whole = packed(&values, rows, cols);
        let mut part = vec![bf16::ONE; 2 * strip_len(cols)];
        pack(&|n| (n < rows).then(|| &values[n * cols..(n + 1) * cols]), cols, 2, &mut part);
        assert_eq!(part, whole[2 * strip_len(cols)..]);
    }

    /// The formula of the PTX ISA for matrix A of `mma.m16n8k16` with 16-bit elements, from lane and element to row and column.
    #[test]
    fn a_unit_is_the_fragment_of_the_isa() {
        for lane in 0..32 {
            let (group, thread) = (lane / 4, lane % 4);
            for i in 0..8 {
                let row = if i < 2 || (4..6).contains(&i) { group } else { group + 8 };
                let col = if i < 4 { thread * 2 + (i & 1) } else { thread * 2 + (i & 1) + 8 };
                assert_eq!(unit_index(row, col), lane * 8 + i, "lane {lane}, a{i}");
            }
        }
    }
}
