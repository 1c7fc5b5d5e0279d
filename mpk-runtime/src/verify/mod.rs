//! The proof of a plan: the contracts MPK-P0201 to P0208, checked on exactly the data that the executors run.
//!
//! Nothing here relies on how the planner made the plan. Counts, streams, coverage and memory are checked by looking; order is
//! proven by running all queues over three steps with vector clocks. That is enough for all steps: a chain of edges from
//! step `s` to `s + k` passes through no other step and looks the same for every `s`, and no memory is written again after more
//! than two steps.

mod boundary;
mod counters;
mod coverage;
mod device;
#[cfg(test)]
mod fuzz;
mod grid;
mod hazards;
mod memory;
#[cfg(test)]
mod mutations;
#[cfg(test)]
mod oracle;
mod simulate;
mod slice;
mod streams;
mod violation;

pub use device::resident;
pub use slice::slice_keeps_head_and_tail;
pub use violation::{Code, Violation};

use std::fmt;

use serde::Serialize;

use crate::graph::OpId;
use crate::plan::{Plan, Tiles, plural, size};
use violation::Found;

/// What was proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// Tasks of a step, on all ranks.
    pub tasks: usize,
    /// Edges of a step: arrivals that some task waits for, counted for each wait.
    pub edges: usize,
    /// Bytes of outputs that are written exactly once a step, on all ranks.
    pub bytes: usize,
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Proof { tasks, edges, bytes } = *self;
        let (tasks, edges) = (plural(tasks, "task"), plural(edges, "edge"));
        write!(f, "{tasks}, {edges}, {} of outputs written exactly once a step", size(bytes))
    }
}

/// Proves a plan.
///
/// # Errors
/// All violations found, up to 16 of each code, in the order of the codes. Where the plan is not even consistent in its
/// indices, only that is reported.
pub fn verify(plan: &Plan) -> Result<Proof, Vec<Violation>> {
    let mut found = Found::default();
    memory::indices(plan, &mut found);
    if found.any() {
        return Err(found.sorted());
    }
    let Some(view) = View::of(plan, &mut found) else { return Err(found.sorted()) };
    let arrivals = counters::check(&view, &mut found);
    let meets = grid::check(&view, &mut found);
    streams::check(&view, &mut found);
    let bytes = coverage::check(&view, &mut found);
    memory::check(&view, &mut found);
    // In a cycle nobody runs: what a simulation would add is noise.
    if !arrivals.cyclic {
        simulate::run(&view, &arrivals, &meets, &mut found);
    }
    if found.any() {
        return Err(found.sorted());
    }
    let shares = || plan.queues.iter().flat_map(|queue| &queue.tasks);
    let edges = shares().flat_map(|share| &share.waits).map(|op| plan.counters[*op].arrivals).sum();
    Ok(Proof { tasks: shares().count(), edges, bytes })
}

/// A plan and what all checks look up in it.
struct View<'a> {
    plan: &'a Plan,
    /// The geometry of each op.
    tiles: Vec<Tiles>,
    /// The ops that read each tensor.
    readers: Vec<Vec<OpId>>,
    /// Where the share of an op stands in a queue, from 1, or 0: at `op * queues + queue`. Of several the last.
    places: Vec<u32>,
}

impl<'a> View<'a> {
    fn of(plan: &'a Plan, found: &mut Found) -> Option<View<'a>> {
        let mut tiles = Vec::with_capacity(plan.ops.len());
        for op in 0..plan.ops.len() {
            match plan.tiles(op) {
                Ok(t) => tiles.push(t),
                Err(error) => found.add(Code::P0203, Some(op), None, format!("the tiles of an op can't be known: {error}")),
            }
        }
        let mut readers = vec![Vec::new(); plan.graph.tensors.len()];
        for (op, node) in plan.graph.ops.iter().enumerate() {
            for tensor in node.reads() {
                if !readers[tensor].contains(&op) {
                    readers[tensor].push(op);
                }
            }
        }
        let mut places = vec![0; plan.ops.len() * plan.queues.len()];
        for (q, queue) in plan.queues.iter().enumerate() {
            for (i, share) in queue.tasks.iter().enumerate() {
                places[share.op * plan.queues.len() + q] = i as u32 + 1;
            }
        }
        (tiles.len() == plan.ops.len()).then_some(View { plan, tiles, readers, places })
    }

    fn workers(&self) -> usize {
        self.plan.options.workers
    }

    /// Where the shares of an op stand in the queues of a rank, from 1, or 0.
    fn places(&self, op: OpId, rank: usize) -> &[u32] {
        let start = op * self.plan.queues.len() + rank * self.workers();
        &self.places[start..start + self.workers()]
    }

    /// Whether every rank has a copy of a tensor from every rank.
    fn collected(&self, tensor: usize) -> bool {
        self.plan.ranks > 1 && self.plan.graph.tensors[tensor].collected.is_some()
    }

    fn label(&self, op: OpId) -> &str {
        &self.plan.ops[op].label
    }
}

/// `worker 3`, with its rank where there are several.
fn worker(plan: &Plan, queue: usize) -> String {
    let (rank, worker) = plan.place_of(queue);
    if plan.ranks > 1 { format!("worker {worker} of rank {rank}") } else { format!("worker {worker}") }
}
