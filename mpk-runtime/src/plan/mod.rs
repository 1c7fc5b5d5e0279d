//! The plan of a whole decode step: data that can be printed, saved and compared.
//!
//! One worker is one SM and has one queue. A plan says which worker runs which tiles of which op, in which order; what each
//! task waits for and what it triggers; where every tensor lies; and what each worker's loader streams through its ring. The
//! executors run exactly this data, and the verifier proves exactly this data.

mod buffers;
mod error;
mod layout;
mod picture;
mod planner;
mod report;
mod sections;
mod spread;
mod svg;
#[cfg(test)]
pub(crate) mod testing;
mod tiles;

use serde::Serialize;

pub use error::PlanError;
pub(crate) use planner::{MOST_BYTES, TENSOR_ALIGN, check_options, packed};
pub(crate) use sections::{plural, size};
pub use tiles::{STRIP_ROWS, Tiles, eval, strip_parts, symbols};

use crate::graph::{Graph, OpId, TensorId};
use crate::shape::Elem;

/// What a plan is made for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Options {
    /// Workers of a rank: the SMs of the device.
    pub workers: usize,
    /// Most rows of a step, 1 to 16.
    pub rows: usize,
    /// Sequences that the KV cache holds at once.
    pub slots: usize,
    /// Positions that each slot can hold.
    pub context: usize,
    /// Shared memory of a worker, in bytes (227 KB on Hopper).
    pub shared_memory: usize,
}

/// The plan of a step.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The graph that it runs; every rank runs the same.
    #[serde(skip)]
    pub graph: Graph,
    /// What it is made for.
    pub options: Options,
    /// Ranks.
    pub ranks: usize,
    /// Pages of the KV cache of a rank, [`crate::step::PAGE_POSITIONS`] positions each.
    pub pages: usize,
    /// How each op is cut, parallel to [`Graph::ops`].
    pub ops: Vec<OpPlan>,
    /// Where each tensor lies, parallel to [`Graph::tensors`].
    pub tensors: Vec<BufferId>,
    /// Activation buffers of a rank.
    pub buffers: Vec<Buffer>,
    /// State of a rank.
    pub states: Vec<State>,
    /// Packed form of each weight, parallel to [`Graph::weights`].
    pub weights: Vec<Packed>,
    /// One counter per op and rank, parallel to [`Graph::ops`]: arrivals that complete a step.
    pub counters: Vec<Counter>,
    /// The ops that end a step: every queue begins the next one after these are complete on its rank.
    pub boundary: Vec<OpId>,
    /// The stage ring of each worker.
    pub ring: Ring,
    /// The map of a worker's shared memory.
    pub shared: Vec<Shared>,
    /// The queue of worker `w` of rank `r` at `r * workers + w`.
    pub queues: Vec<Queue>,
}

/// Index of a buffer in [`Plan::buffers`].
pub type BufferId = usize;

/// How an op is cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpPlan {
    /// For people: `layer 3 linear_v3`.
    pub label: String,
    /// Tiles in all.
    pub tiles: usize,
    /// Bytes of weights that the op streams on one rank.
    pub weight_bytes: usize,
}

/// An activation buffer of a rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Buffer {
    /// Bytes of one copy.
    pub bytes: usize,
    /// Source ranks: a buffer that a collective reads has a copy for each.
    pub sources: usize,
    /// Copies by step parity: 2 where an overwrite in the next step is not ordered after the last read.
    pub parity: usize,
}

/// Memory that lives across steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct State {
    /// The op that owns it.
    pub op: OpId,
    /// The index of its port.
    pub port: usize,
    /// Its shape on one rank.
    pub shape: Vec<usize>,
    /// Element type.
    pub elem: Elem,
    /// The tensor whose memory it has, if that was written once; else it has its own, zeroed.
    pub held: Option<TensorId>,
}

/// A weight as it lies on the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Packed {
    /// Rows (outputs) on one rank; elements of a vector.
    pub rows: usize,
    /// Columns (inputs) on one rank; 1 for a vector.
    pub cols: usize,
    /// Whether it is in fragment order: strips of 16 rows, contiguous over the columns, 512 bytes for 16 × 16.
    pub fragments: bool,
    /// Parts of equal length whose strips take turns, so that a tile finds its rows of all of them together; 1 for the order of
    /// the rows.
    pub parts: usize,
    /// Bytes on the device.
    pub bytes: usize,
}

/// The counter of an op on a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counter {
    /// Arrivals in one step; a wait in epoch `e` is for `e * arrivals`.
    pub arrivals: usize,
    /// Who arrives and who waits.
    pub scope: Scope,
}

/// Who can see an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The workers of one rank.
    Gpu,
    /// The workers of all ranks.
    Sys,
}

/// The stage ring of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ring {
    /// Bytes of a page.
    pub page_bytes: usize,
    /// Pages of the ring.
    pub stages: usize,
    /// Pages that may be in flight at once.
    pub in_flight: usize,
}

/// A region of a worker's shared memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shared {
    /// What it holds: `ring`, `barriers`, `activations` where some are staged, or `task.region` for scratch.
    pub name: String,
    /// Offset in bytes.
    pub offset: usize,
    /// Size in bytes.
    pub bytes: usize,
    /// Alignment in bytes.
    pub align: usize,
    /// The tasks during which it is live; `None` for always. Regions of different tasks may overlap.
    pub task: Option<String>,
}

/// What one worker does in a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Queue {
    /// Its tasks, in order.
    pub tasks: Vec<Share>,
    /// What its loader streams, in order.
    pub stream: Vec<Segment>,
}

/// A worker's share of one op: a run of tiles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// The op.
    pub op: OpId,
    /// First tile.
    pub first: usize,
    /// Number of tiles.
    pub tiles: usize,
    /// Counters of this rank that must be complete in this step before activations are touched.
    pub waits: Vec<OpId>,
    /// Counters that it arrives at when its stores are done.
    pub triggers: Vec<Trigger>,
}

/// One arrival at a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Trigger {
    /// The rank whose counter it is.
    pub rank: usize,
    /// The counter of this op.
    pub counter: OpId,
}

/// A run of pages for one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// The task in the queue that consumes it.
    pub task: usize,
    /// The index of the `Weight` port.
    pub port: usize,
    /// Where the pages come from.
    pub source: PageSource,
    /// Pages.
    pub pages: usize,
}

/// Where a loader reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PageSource {
    /// Strips of a packed weight, each cut into pages by itself.
    Static {
        /// Index into [`Plan::weights`].
        weight: usize,
        /// First strip of 16 rows.
        first_strip: usize,
        /// Strips.
        strips: usize,
    },
}

impl Buffer {
    /// Where a copy begins: that of a source rank (0 in a buffer that no collective reads) in a step, in bytes.
    pub fn offset(&self, source: usize, step: usize) -> usize {
        (step % self.parity * self.sources + source) * self.bytes
    }

    /// Bytes of all copies.
    pub fn total(&self) -> usize {
        self.bytes * self.sources * self.parity
    }
}

impl State {
    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        self.shape.iter().product::<usize>() * self.elem.size()
    }
}

impl Packed {
    /// Strips of 16 rows of a weight in fragment order; each part is filled up to whole strips.
    pub fn strips(&self) -> usize {
        (self.rows / self.parts).div_ceil(STRIP_ROWS) * self.parts
    }

    /// The row of the weight that lies at row `row` of all strips; none where a part is filled up.
    pub fn row(&self, row: usize) -> Option<usize> {
        let (strip, within) = (row / STRIP_ROWS, row % STRIP_ROWS);
        let length = self.rows / self.parts;
        let in_part = strip / self.parts * STRIP_ROWS + within;
        (in_part < length).then_some(strip % self.parts * length + in_part)
    }

    /// Bytes of a strip of 16 rows of a weight in fragment order.
    pub fn strip_bytes(&self) -> usize {
        self.cols.div_ceil(16).saturating_mul(512)
    }
}

impl Plan {
    /// The rank and worker of a queue.
    pub fn place_of(&self, queue: usize) -> (usize, usize) {
        (queue / self.options.workers, queue % self.options.workers)
    }

    /// The geometry of an op's tiles.
    ///
    /// # Errors
    /// Those of [`Tiles::of`]; none for a plan that [`Plan::new`] made.
    pub fn tiles(&self, op: OpId) -> Result<Tiles, PlanError> {
        Tiles::of(&self.graph, op, &self.options, self.pages)
    }

    /// The buffers of what is written once, at step 0, and lives on.
    pub fn kept(&self) -> Vec<BufferId> {
        let once = self.graph.ops.iter().filter(|node| node.task.once);
        once.flat_map(|node| node.writes()).map(|tensor| self.tensors[tensor]).collect()
    }

    /// The buffer of a tensor.
    pub fn buffer(&self, tensor: TensorId) -> &Buffer {
        &self.buffers[self.tensors[tensor]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_of_two_parts_take_turns_and_hold_every_row_once() {
        let packed = Packed { rows: 2 * 37, cols: 16, fragments: true, parts: 2, bytes: 0 };
        assert_eq!(packed.strips(), 6);
        let rows: Vec<Option<usize>> = (0..96).map(|row| packed.row(row)).collect();
        assert_eq!(rows[..17], [(0..16).map(Some).collect::<Vec<_>>(), vec![Some(37)]].concat());
        assert_eq!((rows[32], rows[64], rows[68], rows[69], rows[95]), (Some(16), Some(32), Some(36), None, None));
        let mut all: Vec<usize> = rows.into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, (0..74).collect::<Vec<_>>());
    }
}
