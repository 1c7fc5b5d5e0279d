//! The value that flows along `->`: rows of features with an element type and a placement over the ranks.

use super::dim::Dim;
use super::text::Text;

/// The type of an element of a port, tensor or buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Elem {
    /// bfloat16.
    Bf16,
    /// IEEE single precision.
    F32,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit unsigned integer.
    U64,
}

impl Elem {
    /// Size in bytes.
    pub const fn size(self) -> usize {
        match self {
            Elem::Bf16 => 2,
            Elem::F32 | Elem::U32 => 4,
            Elem::U64 => 8,
        }
    }

    /// The name in signatures: `bf16`, `f32`, `u32`, `u64`.
    pub const fn name(self) -> &'static str {
        match self {
            Elem::Bf16 => "bf16",
            Elem::F32 => "f32",
            Elem::U32 => "u32",
            Elem::U64 => "u64",
        }
    }

    /// Whether two element types are the same, in const evaluation.
    pub const fn same(self, other: Elem) -> bool {
        self as u8 == other as u8
    }
}

/// Where the features of a value are, over the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// Every rank has the whole value.
    Replicated,
    /// Every rank has its share of each part.
    Sharded,
    /// Every rank has a summand: the value is the sum over the ranks.
    Partial,
}

impl Place {
    /// Whether two placements are the same, in const evaluation.
    pub const fn same(self, other: Place) -> bool {
        self as u8 == other as u8
    }

    /// The word for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Place::Replicated => "replicated",
            Place::Sharded => "sharded",
            Place::Partial => "partial",
        }
    }
}

/// Features as a list of parts, in order: `q`, `k` and `v` of a stacked projection. Each part is sharded by itself.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    dims: [Dim; Parts::MAX],
    len: usize,
}

impl Parts {
    /// Parts that are kept apart; more are joined into one.
    pub const MAX: usize = 4;

    /// No part.
    pub const NONE: Parts = Parts { dims: [Dim::ZERO; Parts::MAX], len: 0 };

    /// One part.
    pub const fn one(dim: Dim) -> Parts {
        Parts::NONE.push(dim)
    }

    /// The parts of a stack of weights.
    pub const fn of(dims: &[Dim]) -> Parts {
        let mut parts = Parts::NONE;
        let mut i = 0;
        while i < dims.len() {
            parts = parts.push(dims[i]);
            i += 1;
        }
        parts
    }

    /// These parts and one more.
    pub const fn push(mut self, dim: Dim) -> Parts {
        if self.len == Parts::MAX {
            return Parts::one(self.total().add(dim));
        }
        self.dims[self.len] = dim;
        self.len += 1;
        self
    }

    /// How many parts there are.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no part.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Part `i`; zero beyond the last.
    pub const fn get(&self, i: usize) -> Dim {
        if i < self.len { self.dims[i] } else { Dim::ZERO }
    }

    /// The sum of all parts.
    pub const fn total(&self) -> Dim {
        let mut sum = Dim::ZERO;
        let mut i = 0;
        while i < self.len {
            sum = sum.add(self.dims[i]);
            i += 1;
        }
        sum
    }

    /// The parts as numbers, if they are.
    pub fn values(&self) -> Option<Vec<usize>> {
        (0..self.len).map(|i| self.dims[i].value().and_then(|v| usize::try_from(v).ok())).collect()
    }

    /// `text` followed by the total.
    pub const fn write(&self, text: Text) -> Text {
        self.total().write(text)
    }
}

/// A value between two ops, seen from one rank: `rows` tokens of `parts` features.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Rows, `tokens` for most values.
    pub rows: Dim,
    /// Features of a row.
    pub parts: Parts,
    /// Element type; `None` where it is not known because an earlier error hid it.
    pub elem: Option<Elem>,
    /// Placement over the ranks.
    pub place: Place,
}

impl Edge {
    /// A value of which nothing is known, because of an earlier error: it matches everything.
    pub const UNKNOWN: Edge = Edge { rows: Dim::OPAQUE, parts: Parts::one(Dim::OPAQUE), elem: None, place: Place::Replicated };
}
