//! MPK-P0205: a grid-wide task has exactly one instance on each worker, at a common point of all queues.

use super::violation::{Code, Found};
use super::{View, worker};

const HANG: &str = "on the GPU its grid barrier would never fill";

/// Checks all grid-wide ops. Gives, for each op, whether its instances meet: a sound grid-wide task.
pub(super) fn check(view: &View, found: &mut Found) -> Vec<bool> {
    let plan = view.plan;
    let grid: Vec<bool> = plan.graph.ops.iter().map(|node| node.task.grid).collect();
    let mut meets = grid.clone();
    if !grid.contains(&true) {
        return meets;
    }
    let mut order: Option<Vec<usize>> = None;
    for (q, queue) in plan.queues.iter().enumerate() {
        let (_, index) = plan.place_of(q);
        let mine: Vec<_> = queue.tasks.iter().filter(|share| grid[share.op]).collect();
        for (op, _) in grid.iter().enumerate().filter(|(_, grid)| **grid) {
            let count = mine.iter().filter(|share| share.op == op).count();
            if count != 1 {
                let text = format!(
                    "grid-wide {} has {count} instances on {}\n{HANG}\nhelp: give every worker exactly one",
                    view.label(op),
                    worker(plan, q)
                );
                found.add(Code::P0205, Some(op), Some(q), text);
                meets[op] = false;
            }
        }
        for share in &mine {
            if (share.first, share.tiles) != (index, 1) {
                let text = format!(
                    "grid-wide {} has tiles {}..{} on {}\non the GPU two instances would take the same index\nhelp: instance {index} belongs there",
                    view.label(share.op),
                    share.first,
                    share.first.saturating_add(share.tiles),
                    worker(plan, q)
                );
                found.add(Code::P0205, Some(share.op), Some(q), text);
            }
        }
        let mine: Vec<usize> = mine.iter().map(|share| share.op).collect();
        match &order {
            None => order = Some(mine),
            Some(order) => {
                if let Some((a, b)) = order.iter().zip(&mine).find(|(a, b)| a != b) {
                    let text = format!(
                        "{} comes to grid-wide {} where worker 0 comes to {}\non the GPU each would hold its SM and wait for the other\nhelp: keep grid-wide tasks in one order in all queues",
                        worker(plan, q),
                        view.label(*b),
                        view.label(*a)
                    );
                    found.add(Code::P0205, Some(*b), Some(q), text);
                    (meets[*a], meets[*b]) = (false, false);
                }
            }
        }
    }
    meets
}
