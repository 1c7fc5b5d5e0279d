//! What a `reference!` body sees: logical rows of its ports, independent of packing, paging and placement.

mod activations;
mod math;
mod weights;

use std::ops::Range;

pub use activations::{Area, In, Out, State};
pub use math::{normed, rank_index, rank_key, rms_scale};
pub use weights::{Piece, Weight, dot};

use crate::rope::RopeTable;
use crate::step::StepRows;

/// One call of a reference: a run of tiles of one op, on one rank.
pub struct Call<'a> {
    /// The port views, in the order of the signature.
    pub ports: &'a [PortView<'a>],
    /// Values of the task's symbols on this rank.
    pub dims: &'a [(&'static str, usize)],
    /// The tiles of this task.
    pub tiles: Range<usize>,
    /// The phase, from 0, of a grid-wide task; else 0.
    pub phase: usize,
}

/// A port as a reference sees it.
#[derive(Clone)]
pub enum PortView<'a> {
    /// Left out.
    Absent,
    /// An `In`.
    In(In<'a>),
    /// An `Out`.
    Out(Out<'a>),
    /// A `Weight`.
    Weight(&'a Weight<'a>),
    /// A `State`.
    State(State<'a>),
    /// `Rows`.
    Rows(&'a StepRows),
    /// `Param<f32>`.
    F32(f32),
    /// `Param<u32>`.
    U32(u32),
    /// `Param<Rope>`.
    Rope(&'a RopeTable),
    /// `TaskOffset`.
    Offset(TaskOffset),
}

/// The place of one instance of a grid-wide task.
#[derive(Clone, Copy, Debug)]
pub struct TaskOffset {
    /// Index of this instance.
    pub index: usize,
    /// Number of instances.
    pub count: usize,
}

/// The generated prologue of a reference asks for its ports by index and kind. The kinds are those of the signature that
/// the same macro wrote, so that a mismatch can't be reached by input; it is a bug here.
macro_rules! accessor {
    ($(#[$doc:meta])* $name:ident, $variant:ident, $ty:ty) => {
        $(#[$doc])*
        pub fn $name(&self, port: usize) -> $ty {
            match self.ports.get(port) {
                Some(PortView::$variant(view)) => view.clone(),
                _ => panic!(concat!("port {} is no ", stringify!($variant)), port),
            }
        }
    };
}

impl<'a> Call<'a> {
    accessor!(/// The `In` at this index.
        input, In, In<'a>);
    accessor!(/// The `Out` at this index.
        output, Out, Out<'a>);
    accessor!(/// The `Weight` at this index.
        weight, Weight, &'a Weight<'a>);
    accessor!(/// The `State` at this index.
        state, State, State<'a>);
    accessor!(/// The `Rows` at this index.
        rows, Rows, &'a StepRows);
    accessor!(/// The `Param<f32>` at this index.
        f32, F32, f32);
    accessor!(/// The `Param<u32>` at this index.
        u32, U32, u32);
    accessor!(/// The `Param<Rope>` at this index.
        rope, Rope, &'a RopeTable);
    accessor!(/// The `TaskOffset` at this index.
        offset, Offset, TaskOffset);

    /// The optional `In` at this index.
    pub fn optional_input(&self, port: usize) -> Option<In<'a>> {
        match self.ports.get(port) {
            Some(PortView::In(view)) => Some(view.clone()),
            _ => None,
        }
    }

    /// The optional `Weight` at this index.
    pub fn optional_weight(&self, port: usize) -> Option<&'a Weight<'a>> {
        match self.ports.get(port) {
            Some(PortView::Weight(view)) => Some(view),
            _ => None,
        }
    }

    /// The value of a symbol on this rank; 0 if the task has no such symbol.
    pub fn dim(&self, name: &str) -> usize {
        self.dims.iter().find(|(n, _)| *n == name).map_or(0, |(_, v)| *v)
    }
}
