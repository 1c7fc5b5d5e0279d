//! Weight expressions: which tensors of the checkpoint make up a weight, and which share of them a rank has.

use crate::shape::Shard;

/// A weight as a model writes it.
#[derive(Clone, Debug, PartialEq)]
pub enum WeightExpr {
    /// A module path of the checkpoint: its tensor is `name.weight`, or `name` itself if that is a tensor's full name.
    Module {
        /// The full path: `model.layers.3.self_attn.q_proj`.
        name: String,
        /// The suffix of the tensor: `.weight`, `.bias` or nothing.
        suffix: &'static str,
        /// The shape in the checkpoint.
        shape: Vec<usize>,
    },
    /// Weights stacked by their first dimension; each is sharded by itself.
    Stack(Vec<WeightExpr>),
    /// Experts: weights of one shape under a new first dimension.
    Experts(Vec<WeightExpr>),
    /// The second, where the config ties them: the first, if the checkpoint has it, is a copy. A graph holds the second alone.
    Tied(Box<WeightExpr>, Box<WeightExpr>),
    /// Rows of a weight that holds several parts, in order: the lengths of the parts taken.
    Rows(Box<WeightExpr>, Vec<usize>),
    /// The product of two weights, made when they are packed (MLA).
    Absorb(Box<WeightExpr>, Box<WeightExpr>),
    /// A share of a weight, as [`Shard`] says.
    Sharded {
        /// The weight.
        of: Box<WeightExpr>,
        /// How it is split.
        shard: Shard,
        /// Over how many ranks.
        ranks: usize,
    },
}

/// One tensor of the checkpoint that a weight needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Names in the order of preference.
    pub names: Vec<String>,
    /// Its shape.
    pub shape: Vec<usize>,
}

impl WeightExpr {
    /// A module path, with the suffix that its last component decides: a name that ends in `bias` or `_scale_inv` is a tensor.
    pub fn module(name: String, shape: Vec<usize>) -> WeightExpr {
        let tensor = name.ends_with("bias") || name.ends_with("_scale_inv") || name.ends_with("inv_freq");
        WeightExpr::Module { name, suffix: if tensor { "" } else { ".weight" }, shape }
    }

    /// The tensors of the checkpoint, in the order in which their rows stand.
    pub fn sources(&self) -> Vec<Source> {
        match self {
            WeightExpr::Module { name, suffix, shape } => {
                vec![Source { names: vec![format!("{name}{suffix}")], shape: shape.clone() }]
            }
            WeightExpr::Stack(parts) | WeightExpr::Experts(parts) => parts.iter().flat_map(WeightExpr::sources).collect(),
            WeightExpr::Tied(_, of) | WeightExpr::Rows(of, _) | WeightExpr::Sharded { of, .. } => of.sources(),
            WeightExpr::Absorb(a, b) => [a.sources(), b.sources()].concat(),
        }
    }

    /// This weight without its ties, each of which is added to `ties`: what may be there, and what it is a copy of.
    pub(super) fn untied(self, ties: &mut Vec<(Source, Source)>) -> WeightExpr {
        let mut inner = |of: Box<WeightExpr>| Box::new(of.untied(ties));
        match self {
            WeightExpr::Module { .. } => self,
            WeightExpr::Stack(parts) => WeightExpr::Stack(parts.into_iter().map(|part| part.untied(ties)).collect()),
            WeightExpr::Experts(parts) => WeightExpr::Experts(parts.into_iter().map(|part| part.untied(ties)).collect()),
            WeightExpr::Rows(of, rows) => WeightExpr::Rows(inner(of), rows),
            WeightExpr::Absorb(a, b) => WeightExpr::Absorb(inner(a), inner(b)),
            WeightExpr::Sharded { of, shard, ranks } => WeightExpr::Sharded { of: inner(of), shard, ranks },
            WeightExpr::Tied(copy, of) => {
                let of = of.untied(ties);
                ties.extend(copy.sources().into_iter().zip(of.sources()));
                of
            }
        }
    }

    /// The path of the first module in it.
    pub(crate) fn first_name(&self) -> &str {
        match self {
            WeightExpr::Module { name, .. } => name,
            WeightExpr::Stack(parts) | WeightExpr::Experts(parts) => parts.first().map_or("", WeightExpr::first_name),
            WeightExpr::Tied(_, of) | WeightExpr::Absorb(of, _) | WeightExpr::Rows(of, _) | WeightExpr::Sharded { of, .. } => {
                of.first_name()
            }
        }
    }

    /// The shape on one rank.
    pub fn shape(&self) -> Vec<usize> {
        match self {
            WeightExpr::Module { shape, .. } => shape.clone(),
            WeightExpr::Stack(parts) => {
                let mut shape = parts.first().map(WeightExpr::shape).unwrap_or_default();
                if let Some(first) = shape.first_mut() {
                    *first = parts.iter().map(|p| p.shape().first().copied().unwrap_or(0)).sum();
                }
                shape
            }
            WeightExpr::Experts(parts) => {
                let mut shape = vec![parts.len()];
                shape.extend(parts.first().map(WeightExpr::shape).unwrap_or_default());
                shape
            }
            WeightExpr::Tied(_, of) => of.shape(),
            WeightExpr::Rows(of, rows) => {
                let mut shape = of.shape();
                if let Some(first) = shape.first_mut() {
                    *first = rows.iter().sum();
                }
                shape
            }
            WeightExpr::Absorb(a, b) => {
                let (a, b) = (a.shape(), b.shape());
                vec![a.first().copied().unwrap_or(0), b.last().copied().unwrap_or(0)]
            }
            WeightExpr::Sharded { of, shard, ranks } => {
                let mut shape = of.shape();
                let rows = shape.len().saturating_sub(2);
                let at = match shard {
                    Shard::None => return shape,
                    Shard::Column => rows,
                    Shard::Row => shape.len().saturating_sub(1),
                };
                if let Some(dim) = shape.get_mut(at) {
                    *dim /= ranks;
                }
                shape
            }
        }
    }

    /// The lengths of the parts of the output dimension, on one rank.
    pub fn parts(&self) -> Vec<usize> {
        match self {
            WeightExpr::Stack(parts) => parts.iter().flat_map(WeightExpr::parts).collect(),
            WeightExpr::Experts(parts) => parts.first().map(WeightExpr::parts).unwrap_or_default(),
            WeightExpr::Tied(_, of) => of.parts(),
            WeightExpr::Rows(_, rows) => rows.clone(),
            WeightExpr::Sharded { of, shard: Shard::Column, ranks } => of.parts().iter().map(|p| p / ranks).collect(),
            WeightExpr::Sharded { of, .. } => of.parts(),
            _ => self.shape().first().copied().into_iter().collect(),
        }
    }
}
