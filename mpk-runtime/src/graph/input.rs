//! What a model gives to an op.

use super::{TensorId, WeightExpr};
use crate::rope::Rope;
use crate::shape::{Elem, Shard};

/// A value of the graph under construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value(pub(super) TensorId);

/// An argument of an op, by value.
#[derive(Clone, Debug)]
pub enum Input {
    /// A value for an `In`.
    Value(Value),
    /// A weight.
    Weight(WeightExpr),
    /// A parameter.
    F32(f32),
    /// A whole number for a parameter; one beyond 32 bits is an error of the op that takes it.
    Whole(u64),
    /// A rope.
    Rope(Rope),
    /// The element type of an `Out`.
    Elem(Elem),
}

macro_rules! from_number {
    ($variant:ident as $as:ty: $($ty:ty),*) => {
        $(impl From<$ty> for Input {
            fn from(value: $ty) -> Input {
                Input::$variant(value as $as)
            }
        })*
    };
}
from_number!(F32 as f32: f32, f64);
// None of these is cut.
from_number!(Whole as u64: u32, usize, u64);

impl From<Elem> for Input {
    fn from(elem: Elem) -> Input {
        Input::Elem(elem)
    }
}

impl From<Rope> for Input {
    fn from(rope: Rope) -> Input {
        Input::Rope(rope)
    }
}

/// The arguments of one op.
#[derive(Clone, Debug)]
pub struct OpCall {
    /// The value that flows in by `->`.
    pub chained: Option<Value>,
    /// The others by port name; an empty name is the weight written without one.
    pub named: Vec<(&'static str, Input)>,
    /// Split of the weights.
    pub shard: Shard,
}
