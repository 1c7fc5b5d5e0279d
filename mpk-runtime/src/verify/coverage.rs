//! MPK-P0203, the static part: on each rank the tiles of every op cut every output into ranges that meet and do not overlap.

use std::ops::Range;

use super::violation::{Code, Found};
use super::{View, worker};
use crate::graph::{NodeArg, OpId};

/// Checks all ops; gives the bytes of outputs covered, on all ranks.
pub(super) fn check(view: &View, found: &mut Found) -> usize {
    let plan = view.plan;
    let mut bytes = 0;
    // The shares of each op on each rank: queue, first tile, tiles.
    let mut shares: Vec<Vec<(usize, usize, usize)>> = vec![Vec::new(); plan.ops.len() * plan.ranks];
    for (q, queue) in plan.queues.iter().enumerate() {
        for share in &queue.tasks {
            shares[share.op * plan.ranks + plan.place_of(q).0].push((q, share.first, share.tiles));
        }
    }
    for op in 0..plan.ops.len() {
        if plan.ops[op].tiles != view.tiles[op].count {
            let text = format!(
                "{} is planned as {} tiles, its signature cuts it into {}\non the GPU features would be left out or written twice\nhelp: make the plan anew from its graph",
                view.label(op),
                plan.ops[op].tiles,
                view.tiles[op].count
            );
            found.add(Code::P0203, Some(op), None, text);
        }
        for rank in 0..plan.ranks {
            let shares = &mut shares[op * plan.ranks + rank];
            shares.sort_unstable_by_key(|(q, first, tiles)| (*first, *tiles, *q));
            if tiles_meet(view, op, rank, shares, found) {
                bytes += outputs_meet(view, op, rank, shares, found);
            }
        }
    }
    bytes
}

/// Whether each tile belongs to exactly one worker.
fn tiles_meet(view: &View, op: OpId, rank: usize, shares: &[(usize, usize, usize)], found: &mut Found) -> bool {
    let mut add = |queue: Option<usize>, what: String| {
        let at = if view.plan.ranks > 1 { format!(" on rank {rank}") } else { String::new() };
        let text = format!(
            "{}{at}: {what}\non the GPU features would be left as they were a step ago, or be written twice\nhelp: give every tile to exactly one worker",
            view.label(op)
        );
        found.add(Code::P0203, Some(op), queue, text);
    };
    let (count, mut next, mut good) = (view.tiles[op].count, 0, true);
    for (q, first, tiles) in shares {
        let Some(end) = first.checked_add(*tiles).filter(|end| *end <= count) else {
            add(Some(*q), format!("{} has {tiles} tiles from {first}, there are {count}", worker(view.plan, *q)));
            return false;
        };
        if *first > next {
            add(Some(*q), format!("tiles {next}..{first} belong to no worker"));
            good = false;
        } else if *first < next && *tiles > 0 {
            add(Some(*q), format!("tiles {first}..{} belong to {} and to another worker", end.min(next), worker(view.plan, *q)));
            good = false;
        }
        next = next.max(end);
    }
    if next < count {
        add(None, format!("tiles {next}..{count} belong to no worker"));
        good = false;
    }
    good
}

/// Checks that the elements of all outputs meet where the tiles do; gives their bytes.
fn outputs_meet(view: &View, op: OpId, rank: usize, shares: &[(usize, usize, usize)], found: &mut Found) -> usize {
    let node = &view.plan.graph.ops[op];
    let tiles = &view.tiles[op];
    let mut bytes = 0;
    for (port, arg) in node.args.iter().enumerate() {
        let NodeArg::Out(tensor) = arg else { continue };
        let tensor = &view.plan.graph.tensors[*tensor];
        let all = (0..tensor.rows * view.plan.options.rows, 0..tensor.features());
        // A run takes whole rows or whole columns: lay the runs end to end along the direction that is cut.
        let (mut row, mut feature) = (0, 0);
        let mut meet = true;
        for (_, first, count) in shares {
            let run = *first..first + count;
            let (rows, features) = (tiles.rows(port, run.clone()), tiles.features(port, run));
            if rows.is_empty() || features.is_empty() {
                continue;
            }
            if features == all.1 && rows.start == row {
                (row, feature) = (rows.end, all.1.end);
            } else if rows == all.0 && features.start == feature {
                (row, feature) = (all.0.end, features.end);
            } else {
                meet = false;
            }
        }
        if !meet || (row, feature) != (all.0.end, all.1.end) {
            let name = node.task.signature.ports[port].name;
            let whole = |r: &Range<usize>| r.end;
            let text = format!(
                "{} on rank {rank}: the runs of tiles do not make up `{name}` of {} × {}\non the GPU features would be left as they were a step ago, or be written twice\nhelp: mend `tiles(…)` of the task",
                view.label(op),
                whole(&all.0),
                whole(&all.1)
            );
            found.add(Code::P0203, Some(op), None, text);
        } else {
            bytes += all.0.end.saturating_mul(all.1.end).saturating_mul(tensor.elem.size());
        }
    }
    bytes
}
