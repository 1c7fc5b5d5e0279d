//! Where the rows of each weight lie in the checkpoint, for one rank.

use half::bf16;

use crate::graph::WeightExpr;
use crate::reference::{Piece, Weight};
use crate::shape::Shard;

/// A weight can't be read as the model asks.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
#[error("{0}\nhelp: check the names and shapes of the weights in the model")]
pub struct WeightError(pub String);

/// Gives the elements of the tensor that one of the names has.
pub trait Tensors: Sync {
    /// The elements, row-major; `None` if there is no such tensor.
    fn bf16(&self, names: &[String]) -> Option<&[bf16]>;
}

/// The view of `weight` that `rank` has.
///
/// # Errors
/// The tensor is missing, or the expression is one that only packing can make (`absorb`).
pub fn view<'a>(weight: &WeightExpr, rank: usize, tensors: &'a dyn Tensors) -> Result<Weight<'a>, WeightError> {
    Ok(Weight { pieces: pieces(weight, rank, tensors)? })
}

fn pieces<'a>(weight: &WeightExpr, rank: usize, tensors: &'a dyn Tensors) -> Result<Vec<Piece<'a>>, WeightError> {
    match weight {
        WeightExpr::Module { .. } => Ok(vec![leaf(weight, tensors)?]),
        WeightExpr::Tied(_, of) => pieces(of, rank, tensors),
        WeightExpr::Stack(parts) | WeightExpr::Experts(parts) => {
            let parts: Result<Vec<_>, _> = parts.iter().map(|part| pieces(part, rank, tensors)).collect();
            Ok(parts?.concat())
        }
        WeightExpr::Rows(of, lengths) => {
            let whole = pieces(of, rank, tensors)?;
            let [whole] = whole[..] else {
                return Err(WeightError(format!("rows({}, …) takes the rows of one tensor", of.first_name())));
            };
            let mut first = 0;
            let mut parts = Vec::new();
            for rows in lengths {
                parts.push(rows_of(of, whole, first, *rows)?);
                first += rows;
            }
            Ok(parts)
        }
        WeightExpr::Sharded { of, shard, ranks } => {
            let share = |piece: Piece<'a>| match shard {
                Shard::None => Ok(piece),
                Shard::Column => rows_of(of, piece, piece.rows / ranks * rank, piece.rows / ranks),
                Shard::Row => {
                    let cols = piece.cols / ranks;
                    Ok(Piece { first: piece.first + cols * rank, cols, ..piece })
                }
            };
            pieces(of, rank, tensors)?.into_iter().map(share).collect()
        }
        WeightExpr::Absorb(a, b) => Err(WeightError(format!(
            "absorb({}, {}) is a product that is made when weights are packed: no executor packs it yet",
            a.first_name(),
            b.first_name()
        ))),
    }
}

fn leaf<'a>(weight: &WeightExpr, tensors: &'a dyn Tensors) -> Result<Piece<'a>, WeightError> {
    let names = weight.sources().into_iter().next().map(|s| s.names).unwrap_or_default();
    let data =
        tensors.bf16(&names).ok_or_else(|| WeightError(format!("the checkpoint has no tensor `{}`", names.join("` or `"))))?;
    let shape = weight.shape();
    let (rows, cols) = (shape.first().copied().unwrap_or(1), shape.iter().skip(1).product());
    if data.len() != rows * cols {
        return Err(WeightError(format!(
            "tensor `{}` has {} elements, the model takes {shape:?}",
            names.join("` or `"),
            data.len()
        )));
    }
    Ok(Piece { data, rows, stride: cols, first: 0, cols })
}

fn rows_of<'a>(of: &WeightExpr, piece: Piece<'a>, first: usize, rows: usize) -> Result<Piece<'a>, WeightError> {
    if first + rows > piece.rows {
        let (name, last) = (of.first_name(), first + rows);
        return Err(WeightError(format!("rows {first}..{last} of `{name}` are asked for, which has {} rows", piece.rows)));
    }
    Ok(Piece { data: &piece.data[first * piece.stride..], rows, ..piece })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbers(Vec<bf16>);

    impl Tensors for Numbers {
        fn bf16(&self, names: &[String]) -> Option<&[bf16]> {
            (names[0] != "missing.weight").then_some(&self.0)
        }
    }

    /// 6 × 4, element `10 * row + column`.
    fn numbers() -> Numbers {
        Numbers((0..24).map(|i| bf16::from_f32((10 * (i / 4) + i % 4) as f32)).collect())
    }

    fn module(name: &str) -> WeightExpr {
        WeightExpr::module(name.into(), vec![6, 4])
    }

    fn first_column(weight: &Weight) -> Vec<f32> {
        (0..weight.rows()).map(|n| weight.row(n)[0].to_f32()).collect()
    }

    #[test]
    fn each_weight_of_a_stack_is_sharded_by_itself() {
        let stack = WeightExpr::Stack(vec![module("a"), module("b")]);
        let sharded = WeightExpr::Sharded { of: Box::new(stack), shard: Shard::Column, ranks: 2 };
        let tensors = numbers();
        let second = view(&sharded, 1, &tensors).unwrap();
        assert_eq!(first_column(&second), [30.0, 40.0, 50.0, 30.0, 40.0, 50.0]);
        assert_eq!(sharded.shape(), [6, 4]);
        assert_eq!(sharded.parts(), [3, 3]);
    }

    #[test]
    fn a_row_shard_has_its_columns() {
        let sharded = WeightExpr::Sharded { of: Box::new(module("a")), shard: Shard::Row, ranks: 2 };
        let tensors = numbers();
        let second = view(&sharded, 1, &tensors).unwrap();
        assert_eq!(second.row(5).iter().map(|v| v.to_f32()).collect::<Vec<_>>(), [52.0, 53.0]);
    }

    #[test]
    fn rows_cut_one_tensor_into_parts_that_shard_by_themselves() {
        let rows = WeightExpr::Rows(Box::new(module("qkv")), vec![2, 4]);
        let sharded = WeightExpr::Sharded { of: Box::new(rows), shard: Shard::Column, ranks: 2 };
        let tensors = numbers();
        assert_eq!(first_column(&view(&sharded, 0, &tensors).unwrap()), [0.0, 20.0, 30.0]);
    }

    #[test]
    fn what_is_wrong_with_a_weight_is_told_by_its_name() {
        let text = |weight: WeightExpr| view(&weight, 0, &numbers()).map(|_| ()).unwrap_err().to_string();
        assert!(text(module("missing")).contains("missing.weight"));
        let rows = text(WeightExpr::Rows(Box::new(module("qkv")), vec![2, 5]));
        assert!(rows.contains("rows 2..7 of `qkv` are asked for, which has 6 rows"), "{rows}");
        let absorb = text(WeightExpr::Absorb(Box::new(module("up")), Box::new(module("down"))));
        assert!(absorb.contains("absorb(up, down)"), "{absorb}");
    }
}
