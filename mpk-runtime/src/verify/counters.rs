//! MPK-P0201: every wait counts exactly the triggers that arrive, and no op waits for itself through others.

use std::borrow::Cow;

use super::violation::{Code, Found};
use super::{View, worker};
use crate::graph::OpId;
use crate::plan::{Scope, Share, Trigger};

const HANG: &str = "on the GPU the wait would never end, or end before the data is there";

/// How the counters of a plan really fill.
pub(super) struct Arrivals {
    /// Arrivals in a step, at `op * ranks + rank`.
    pub(super) counts: Vec<usize>,
    /// Ops whose counter is sound. The others are taken as they were meant, so that one mistake is reported once.
    sound: Vec<bool>,
    /// Whether a cycle of waits was found.
    pub(super) cyclic: bool,
}

impl Arrivals {
    /// The triggers of a task of a queue on `rank`.
    pub(super) fn of<'a>(&self, view: &View, share: &'a Share, rank: usize) -> Cow<'a, [Trigger]> {
        if self.sound[share.op] { Cow::Borrowed(&share.triggers) } else { Cow::Owned(meant(view, share.op, rank)) }
    }
}

/// The triggers that a share should have.
fn meant(view: &View, op: OpId, rank: usize) -> Vec<Trigger> {
    let everywhere = view.plan.graph.ops[op].writes().any(|t| view.collected(t));
    let ranks = if everywhere { 0..view.plan.ranks } else { rank..rank + 1 };
    ranks.map(|rank| Trigger { rank, counter: op }).collect()
}

/// Checks counts and cycles.
pub(super) fn check(view: &View, found: &mut Found) -> Arrivals {
    let plan = view.plan;
    let mut arrivals = vec![0; plan.ops.len() * plan.ranks];
    let mut sound = vec![true; plan.ops.len()];
    let mut remote = vec![false; plan.ops.len()];
    // The queue that arrived last at each counter: queues are visited one by one, so twice means twice in a row.
    let mut last = vec![usize::MAX; arrivals.len()];
    for (q, queue) in plan.queues.iter().enumerate() {
        let (rank, _) = plan.place_of(q);
        for (i, share) in queue.tasks.iter().enumerate() {
            let at = || format!("{} (task {i} of {})", view.label(share.op), worker(plan, q));
            if view.places(share.op, rank)[q % view.workers()] as usize != i + 1 {
                let text = format!(
                    "{} is in its queue twice\non the GPU the counter of the op would count one worker for two\nhelp: give each worker one run of tiles of an op",
                    at()
                );
                found.add(Code::P0201, Some(share.op), Some(q), text);
                sound[share.op] = false;
            }
            for trigger in &share.triggers {
                let counter = trigger.counter * plan.ranks + trigger.rank;
                if trigger.counter != share.op {
                    let text = format!(
                        "{} triggers the counter of {}\n{HANG}\nhelp: let each task trigger the counter of its own op",
                        at(),
                        view.label(trigger.counter)
                    );
                    found.add(Code::P0201, Some(share.op), Some(q), text);
                    (sound[share.op], sound[trigger.counter]) = (false, false);
                }
                if last[counter] == q {
                    let text = format!(
                        "{} arrives twice at the counter of {} on rank {}\n{HANG}\nhelp: one arrival for each worker and counter",
                        at(),
                        view.label(trigger.counter),
                        trigger.rank
                    );
                    found.add(Code::P0201, Some(share.op), Some(q), text);
                    sound[trigger.counter] = false;
                }
                last[counter] = q;
                arrivals[counter] += 1;
                remote[trigger.counter] |= trigger.rank != rank;
            }
        }
    }
    for op in 0..plan.ops.len() {
        let wanted = plan.counters[op].arrivals;
        for rank in 0..plan.ranks {
            let seen = arrivals[op * plan.ranks + rank];
            if seen != wanted || seen == 0 {
                let text = format!(
                    "the counter of {} on rank {rank} counts {wanted} arrivals a step, {seen} arrive\n{HANG}\nhelp: set `arrivals` to the triggers of the op",
                    view.label(op)
                );
                found.add(Code::P0201, Some(op), None, text);
                sound[op] = false;
            }
        }
        if remote[op] && plan.counters[op].scope != Scope::Sys {
            let text = format!(
                "the counter of {} has gpu scope, and other ranks trigger it\non the GPU the arrival could be seen before the data\nhelp: give it sys scope",
                view.label(op)
            );
            found.add(Code::P0201, Some(op), None, text);
        }
    }
    if plan.boundary.is_empty() {
        let text = "no op ends the step\non the GPU a worker could be steps ahead of another\nhelp: put the op that writes the output in `boundary`";
        found.add(Code::P0201, None, None, text.to_string());
    }
    for (op, _) in sound.iter().enumerate().filter(|(_, sound)| !**sound) {
        let mut counts = vec![0; plan.ranks];
        for (q, queue) in plan.queues.iter().enumerate() {
            for _ in queue.tasks.iter().filter(|share| share.op == op) {
                meant(view, op, plan.place_of(q).0).iter().for_each(|trigger| counts[trigger.rank] += 1);
            }
        }
        arrivals[op * plan.ranks..][..plan.ranks].copy_from_slice(&counts);
    }
    Arrivals { counts: arrivals, sound, cyclic: cycles(view, found) }
}

/// Reports one cycle of waits, if there is one.
fn cycles(view: &View, found: &mut Found) -> bool {
    let count = view.plan.ops.len();
    let mut edges: Vec<Vec<OpId>> = vec![Vec::new(); count];
    for share in view.plan.queues.iter().flat_map(|queue| &queue.tasks) {
        for op in &share.waits {
            // Shares of one op mostly wait for the same ops.
            if !edges[share.op].contains(op) {
                edges[share.op].push(*op);
            }
        }
    }
    // Depth first, without recursion: a graph may be thousands of ops deep.
    let (mut state, mut path) = (vec![0u8; count], Vec::new());
    for root in 0..count {
        if state[root] != 0 {
            continue;
        }
        state[root] = 1;
        path.push((root, 0));
        while let Some((op, next)) = path.last_mut() {
            let Some(to) = edges[*op].get(*next).copied() else {
                state[*op] = 2;
                path.pop();
                continue;
            };
            *next += 1;
            if state[to] == 1 {
                let start = path.iter().position(|(op, _)| *op == to).unwrap_or(0);
                let names: Vec<&str> = path[start..].iter().map(|(op, _)| view.label(*op)).collect();
                let text = format!(
                    "waits go in a circle: {} → {}\non the GPU every worker would wait for ever\nhelp: an op may wait only for ops before it",
                    names.join(" → "),
                    view.label(to)
                );
                found.add(Code::P0201, Some(to), None, text);
                return true;
            }
            if state[to] == 0 {
                state[to] = 1;
                path.push((to, 0));
            }
        }
    }
    false
}
