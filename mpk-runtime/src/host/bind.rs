//! The port views of one task.

use std::ops::Range;

use super::Executor;
use crate::graph::NodeArg;
use crate::plan::Share;
use crate::reference::{Out, PortView, State, TaskOffset, Weight};
use crate::shape::Shard;
use crate::step::{PAGE_POSITIONS, StepRows};

/// What a task call needs beside its ports.
pub struct Bound<'a> {
    /// The views, in the order of the signature.
    pub ports: Vec<PortView<'a>>,
    /// Symbols of the task on this rank, in this step.
    pub dims: Vec<(&'static str, usize)>,
    /// Its tiles.
    pub tiles: Range<usize>,
}

/// Binds the ports of a share on `rank`, worker `worker`.
pub fn bind<'a>(
    executor: &'a Executor,
    weights: &'a [Weight<'a>],
    rows: &'a StepRows,
    rank: usize,
    worker: usize,
    share: &Share,
) -> Bound<'a> {
    let plan = &executor.plan;
    let node = &plan.graph.ops[share.op];
    let geometry = &executor.geometry[share.op];
    let run = share.first..share.first + share.tiles;
    let ports = node.args.iter().enumerate().map(|(port, arg)| match arg {
        NodeArg::Absent => PortView::Absent,
        NodeArg::In(tensor) => PortView::In(executor.input(rank, *tensor, rows.len())),
        NodeArg::Out(tensor) => {
            let of = &plan.graph.tensors[*tensor];
            let buffer = plan.tensors[*tensor];
            // What a collective reads is pushed to every rank, into the copy of its source.
            let areas = if plan.buffers[buffer].sources > 1 {
                (0..plan.ranks).map(|to| executor.memory.buffer(plan, to, buffer, executor.epoch)[rank]).collect()
            } else {
                executor.memory.buffer(plan, rank, buffer, executor.epoch)
            };
            let live = rows.len() * of.rows;
            let own = geometry.rows(port, run.clone());
            PortView::Out(Out {
                areas: areas.into(),
                elem: of.elem,
                rows: own.start.min(live)..own.end.min(live),
                own: geometry.features(port, run.clone()),
                features: of.features(),
            })
        }
        // A vector added to a partial value is added by one rank.
        NodeArg::Weight(w) if node.shard == Shard::Row && rank > 0 && !plan.weights[*w].fragments => PortView::Absent,
        NodeArg::Weight(w) => PortView::Weight(&weights[rank * plan.graph.weights.len() + w]),
        NodeArg::State | NodeArg::Held(_) => {
            let at = plan.states.iter().position(|s| s.op == share.op && s.port == port);
            at.map_or(PortView::Absent, |at| {
                let state = &plan.states[at];
                let area = match state.held {
                    Some(tensor) => executor.memory.buffer(plan, rank, plan.tensors[tensor], executor.epoch)[0],
                    None => executor.memory.state(rank, at),
                };
                PortView::State(State { area, shape: &state.shape, elem: state.elem })
            })
        }
        NodeArg::Rows => PortView::Rows(rows),
        NodeArg::F32(value) => PortView::F32(*value),
        NodeArg::U32(value) => PortView::U32(*value),
        NodeArg::Rope(_) => executor.ropes[share.op].as_deref().map_or(PortView::Absent, PortView::Rope),
        NodeArg::Offset => PortView::Offset(TaskOffset { index: worker, count: plan.options.workers }),
    });
    let mut dims = node.dims.clone();
    dims.push(("T", rows.len()));
    dims.push(("P", plan.pages * PAGE_POSITIONS));
    Bound { ports: ports.collect(), dims, tiles: run }
}
