//! The verifier's answer on order is exact: on plans spoiled at random it agrees with a naive one, which writes down every
//! pair of accesses to the same memory and looks for a path between them.

use super::*;
use crate::plan::Share;
use crate::plan::testing::*;
use std::collections::BTreeMap;

const STEPS: usize = 3;

/// A task of a step, and all tasks that come before it.
struct Task<'a> {
    step: usize,
    rank: usize,
    share: &'a Share,
    before: Vec<bool>,
}

/// Every task of three steps. Queues keep the order of the ops and waits go back, so that (step, op) is an order of all.
fn tasks(plan: &Plan) -> Vec<Task<'_>> {
    let mut order: Vec<(usize, usize, usize, usize)> = Vec::new();
    for step in 0..STEPS {
        for (q, queue) in plan.queues.iter().enumerate() {
            order.extend(queue.tasks.iter().enumerate().map(|(i, share)| (step, share.op, q, i)));
        }
    }
    order.sort_unstable();
    let mut tasks: Vec<Task> = Vec::new();
    for (step, op, q, i) in &order {
        let (rank, _) = plan.place_of(*q);
        let share = &plan.queues[*q].tasks[*i];
        let mut before = vec![false; order.len()];
        let mut after = |t: usize, task: &Task| {
            before[t] = true;
            before.iter_mut().zip(&task.before).for_each(|(a, b)| *a |= b);
        };
        for (t, task) in tasks.iter().enumerate() {
            let (s, o, p, j) = order[t];
            let next =
                p == *q && ((s == *step && j + 1 == *i) || (s + 1 == *step && *i == 0 && j + 1 == plan.queues[p].tasks.len()));
            let arrives = task.share.triggers.iter().any(|t| t.rank == rank);
            let waited = s == *step && share.waits.contains(&o) && arrives;
            let boundary = s + 1 == *step && plan.boundary.contains(&o) && arrives;
            if next || waited || boundary {
                after(t, task);
            }
        }
        assert_eq!(share.op, *op);
        tasks.push(Task { step: *step, rank, share, before });
    }
    tasks
}

/// Whether two accesses to the same memory, one of them a write, have no path between them, or a read finds another tensor.
fn races(plan: &Plan) -> bool {
    let tasks = tasks(plan);
    // (buffer, rank, source, copy) → (task, writes, tensor)
    let mut accesses: BTreeMap<_, Vec<(usize, bool, usize)>> = BTreeMap::new();
    for (t, task) in tasks.iter().enumerate() {
        let node = &plan.graph.ops[task.share.op];
        let mut access = |tensor: usize, rank: usize, source: usize, writes: bool| {
            let copy = task.step % plan.buffer(tensor).parity;
            accesses.entry((plan.tensors[tensor], rank, source, copy)).or_default().push((t, writes, tensor));
        };
        let collected = |tensor: usize| plan.graph.tensors[tensor].collected.is_some();
        for tensor in node.reads() {
            let sources = if collected(tensor) { 0..plan.ranks } else { 0..1 };
            sources.for_each(|source| access(tensor, task.rank, source, false));
        }
        for tensor in node.writes() {
            match collected(tensor) {
                true => (0..plan.ranks).for_each(|to| access(tensor, to, task.rank, true)),
                false => access(tensor, task.rank, 0, true),
            }
        }
    }
    accesses.values().any(|all| {
        let mut last = None;
        let stale = all.iter().any(|(t, writes, tensor)| {
            let version = Some((*tensor, tasks[*t].step));
            last = if *writes { version } else { last };
            last != version
        });
        stale
            || all.iter().enumerate().any(|(i, (a, a_writes, a_tensor))| {
                all[i + 1..].iter().any(|(b, b_writes, b_tensor)| {
                    // Tasks of one op write different elements.
                    let same = a_writes == b_writes && a_tensor == b_tensor && tasks[*a].step == tasks[*b].step;
                    (*a_writes || *b_writes) && !same && !tasks[*b].before[*a]
                })
            })
    })
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

fn spoil(plan: &mut Plan, random: &mut Random) {
    let op = random.below(plan.ops.len());
    match random.below(6) {
        // One task does not wait, or its whole op.
        0 => {
            let q = random.below(plan.queues.len());
            let i = random.below(plan.queues[q].tasks.len());
            plan.queues[q].tasks[i].waits.clear();
        }
        1 => {
            plan.queues.iter_mut().flat_map(|q| &mut q.tasks).filter(|s| s.op == op).for_each(|s| {
                s.waits.pop();
            });
        }
        // Two tensors share a buffer.
        2 | 3 => {
            let (a, b) = (random.below(plan.tensors.len()), random.below(plan.tensors.len()));
            if a != plan.graph.output && b != plan.graph.output && plan.buffer(a).sources == plan.buffer(b).sources {
                plan.tensors[a] = plan.tensors[b];
                plan.buffers.iter_mut().for_each(|buffer| buffer.bytes = 1 << 20);
            }
        }
        // The step ends elsewhere.
        4 => plan.boundary = vec![op],
        _ => {
            let buffer = random.below(plan.buffers.len());
            plan.buffers[buffer].parity = 1 + random.below(2);
        }
    }
}

#[test]
fn the_proof_of_order_is_exact() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut refused, mut proven) = (0, 0);
    for (size, workers, rows) in [(SMALL, 3, 1), (TWO_RANKS, 2, 2), (Size { layers: 1, ..TWO_RANKS }, 40, 2)] {
        let sound = plan(size, workers, rows);
        for _ in 0..60 {
            let mut plan = sound.clone();
            for _ in 0..1 + random.below(2) {
                spoil(&mut plan, &mut random);
            }
            let expected = races(&plan);
            let violations = verify(&plan).err().unwrap_or_default();
            let found = violations.iter().any(|v| v.code == Code::P0203);
            assert_eq!(found, expected, "{violations:#?}");
            if found { refused += 1 } else { proven += 1 }
        }
    }
    assert!(refused > 40 && proven > 40, "{refused} refused, {proven} proven");
}
