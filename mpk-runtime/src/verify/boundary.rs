//! MPK-P0208: what no epoch word carries is ordered by the step boundary.
//!
//! KV rows are written in one step and read in later ones; the row table and the page tables are written between steps. Neither
//! has an edge of its own, so the ops that end a step must come after every task that uses them.

use super::hazards::{Hazards, covers};
use super::violation::{Code, Found};
use super::{View, worker};
use crate::graph::NodeArg;

/// Checks the clock with which queue `q` begins `step` against the step before.
pub(super) fn check(view: &View, step: usize, q: usize, clock: &[u32], hazards: &mut Hazards, found: &mut Found) {
    let plan = view.plan;
    let (rank, _) = plan.place_of(q);
    let output = plan.graph.tensors[plan.graph.output].writer;
    for (op, node) in plan.graph.ops.iter().enumerate() {
        let what = if node.has_state() {
            "the state that it wrote"
        } else if node.args.contains(&NodeArg::Rows) {
            "the row table that it reads"
        } else if op == output {
            "the output that it wrote"
        } else {
            continue;
        };
        if covers(view, clock, hazards.done(step - 1, op, rank), rank) || !hazards.first(Code::P0208, op, op) {
            continue;
        }
        let text = format!(
            "{} begins a step while {} of the step before may still run: {what} has no other order\non the GPU a row of the cache or of the table would be read half written, once in a while\nhelp: put an op that comes after it in `boundary`",
            worker(plan, q),
            view.label(op)
        );
        found.add(Code::P0208, Some(op), Some(q), text);
    }
}
