//! MPK-P0203, the part about order: reads after their writes, overwrites after all accesses before, counts step by step.

use std::collections::BTreeSet;

use super::simulate::STEPS;
use super::violation::{Code, Found};
use super::{View, worker};
use crate::graph::{OpId, TensorId};
use crate::plan::Scope;

/// What lies in a piece of memory, and what lay there before: tensor and step.
#[derive(Clone, Copy, Default)]
struct Cell {
    now: Option<(TensorId, usize)>,
    before: Option<(TensorId, usize)>,
}

/// A task that begins.
pub(super) struct At<'a> {
    pub(super) step: usize,
    /// Its queue and the rank of it.
    pub(super) q: usize,
    pub(super) rank: usize,
    pub(super) op: OpId,
    /// What is complete before it.
    pub(super) clock: &'a [u32],
}

/// Checks each access as its task comes up.
pub(super) struct Hazards {
    /// The clock components at which all tasks of an op on a rank are complete in a step, for the workers of that rank;
    /// 0 for workers that take no part. At `((step * ops + op) * ranks + rank) * workers`.
    done: Vec<u32>,
    workers: usize,
    ranks: usize,
    ops: usize,
    /// Memory at `cells[buffer] + (rank * sources + source) * parity + copy`.
    cells: Vec<Cell>,
    first_cell: Vec<usize>,
    /// What is reported already: the same mistake shows on every worker.
    seen: BTreeSet<(Code, OpId, OpId)>,
}

/// Whether a clock comes after all tasks that `done` counts, of the workers of `rank`.
pub(super) fn covers(view: &View, clock: &[u32], done: &[u32], rank: usize) -> bool {
    let start = rank * view.workers();
    // Without an early exit this becomes vector code.
    let late = clock[start..start + done.len()].iter().zip(done).fold(0, |late, (have, want)| late | u32::from(have < want));
    late == 0
}

impl Hazards {
    pub(super) fn new(view: &View) -> Hazards {
        let plan = view.plan;
        let (workers, ranks, ops) = (view.workers(), plan.ranks, plan.ops.len());
        let mut done = Vec::with_capacity(STEPS * ops * ranks * workers);
        for step in 0..STEPS {
            for op in 0..ops {
                for rank in 0..ranks {
                    let queues = &plan.queues[rank * workers..(rank + 1) * workers];
                    let places = view.places(op, rank).iter().zip(queues);
                    done.extend(places.map(|(place, queue)| match place {
                        0 => 0,
                        _ => (step * queue.tasks.len()) as u32 + place,
                    }));
                }
            }
        }
        let mut first_cell = Vec::with_capacity(plan.buffers.len());
        let mut cells = 0;
        for buffer in &plan.buffers {
            first_cell.push(cells);
            cells += ranks * buffer.sources.clamp(1, ranks) * buffer.parity.clamp(1, 2);
        }
        Hazards { done, workers, ranks, ops, cells: vec![Cell::default(); cells], first_cell, seen: BTreeSet::new() }
    }

    /// When an op is complete on a rank in a step.
    pub(super) fn done(&self, step: usize, op: OpId, rank: usize) -> &[u32] {
        let start = ((step * self.ops + op) * self.ranks + rank) * self.workers;
        &self.done[start..start + self.workers]
    }

    /// Whether this is the first violation of its kind between two ops.
    pub(super) fn first(&mut self, code: Code, op: OpId, other: OpId) -> bool {
        self.seen.insert((code, op, other))
    }

    /// Checks the accesses of a task.
    pub(super) fn task(&mut self, view: &View, at: &At, found: &mut Found) {
        let node = &view.plan.graph.ops[at.op];
        for tensor in node.reads() {
            self.read(view, at, tensor, found);
        }
        for tensor in node.writes() {
            let to = if view.collected(tensor) { 0..self.ranks } else { at.rank..at.rank + 1 };
            for to in to {
                self.write(view, at, tensor, to, found);
            }
        }
        if at.step > 0 {
            self.count(view, at, found);
        }
    }

    fn read(&mut self, view: &View, at: &At, tensor: TensorId, found: &mut Found) {
        let writer = view.plan.graph.tensors[tensor].writer;
        let mut from = if view.collected(tensor) { 0..self.ranks } else { at.rank..at.rank + 1 };
        let late = from.find(|from| !covers(view, at.clock, self.done(at.step, writer, *from), *from));
        if let Some(from) = late
            && self.first(Code::P0203, at.op, writer)
        {
            let text = format!(
                "{} on {} reads what {} writes on rank {from}, and no chain of edges puts the write before the read\non the GPU it would read the values of a step ago, now and then\nhelp: let it wait for {}",
                view.label(at.op),
                worker(view.plan, at.q),
                view.label(writer),
                view.label(writer)
            );
            found.add(Code::P0203, Some(at.op), Some(at.q), text);
        }
    }

    /// A write into the memory of rank `to`.
    fn write(&mut self, view: &View, at: &At, tensor: TensorId, to: usize, found: &mut Found) {
        let plan = view.plan;
        let (id, buffer) = (plan.tensors[tensor], plan.buffer(tensor));
        let (sources, parity) = (buffer.sources.clamp(1, self.ranks), buffer.parity.clamp(1, 2));
        let source = at.rank.min(sources - 1);
        let cell = self.first_cell[id] + (to * sources + source) * parity + at.step % parity;
        if self.cells[cell].now != Some((tensor, at.step)) {
            self.cells[cell] = Cell { now: Some((tensor, at.step)), before: self.cells[cell].now };
        }
        // What lay there before that was overwritten under the same check: its accesses come before by transitivity.
        let Some((old, then)) = self.cells[cell].before else { return };
        let writer = plan.graph.tensors[old].writer;
        let late = |op: OpId, rank: usize| !covers(view, at.clock, self.done(then, op, rank), rank);
        let late = match view.readers[old].iter().find(|reader| late(**reader, to)) {
            _ if late(writer, at.rank) => Some((writer, "writes", at.rank)),
            reader => reader.map(|reader| (*reader, "reads", to)),
        };
        if let Some((other, verb, rank)) = late
            && self.first(Code::P0203, at.op, other)
        {
            let when = match at.step.checked_sub(then) {
                Some(0) => "of the same step",
                Some(1) => "of the step before",
                Some(_) => "of two steps before",
                None => "of the step after",
            };
            let text = format!(
                "{} on {} overwrites buffer {id} on rank {to}, which {} {when} {verb} on rank {rank}, and no chain of edges puts that first\non the GPU a slow worker would read the new values for the old, now and then\nhelp: give the output of {} a buffer of its own, or a copy for each step parity",
                view.label(at.op),
                worker(plan, at.q),
                view.label(other),
                view.label(at.op)
            );
            found.add(Code::P0203, Some(at.op), Some(at.q), text);
        }
    }

    /// A wait in step `s` is for `s` times the arrivals: none of step `s` may come before all of step `s - 1`.
    fn count(&mut self, view: &View, at: &At, found: &mut Found) {
        let mut from = if view.plan.counters[at.op].scope == Scope::Sys { 0..self.ranks } else { at.rank..at.rank + 1 };
        let late = from.find(|from| !covers(view, at.clock, self.done(at.step - 1, at.op, *from), *from));
        if let Some(from) = late
            && self.first(Code::P0201, at.op, at.op)
        {
            let text = format!(
                "{} on {} arrives for a step while rank {from} may not have arrived for the step before\non the GPU the count would be full with a task still running\nhelp: put an op that comes after it in `boundary`",
                view.label(at.op),
                worker(view.plan, at.q)
            );
            found.add(Code::P0201, Some(at.op), Some(at.q), text);
        }
    }
}
