//! Each rule can fail: a sound plan, spoiled in one place, is refused with the right code and with no other.

use super::*;
use crate::plan::testing::*;
use crate::plan::{PageSource, Scope, Share};

const GRID_RANKS: Size = Size { grid: true, ..TWO_RANKS };

fn sound(size: Size) -> Plan {
    plan(size, 5, 2)
}

/// Spoils a plan and asks for violations of `code` alone, one of which says `needle`.
#[track_caller]
fn refused(size: Size, code: Code, needle: &str, spoil: impl FnOnce(&mut Plan)) {
    let mut plan = sound(size);
    spoil(&mut plan);
    let violations = verify(&plan).expect_err("the spoiled plan is proven");
    let all: Vec<String> = violations.iter().map(|v| v.to_string()).collect();
    assert!(violations.iter().all(|v| v.code == code), "other codes than {code}:\n{}", all.join("\n"));
    assert!(all.iter().any(|text| text.contains(needle)), "no `{needle}` in\n{}", all.join("\n"));
    for text in all {
        assert!(text.contains("\nhelp: ") && text.lines().count() == 3, "{text}");
    }
}

/// The op with this label.
fn op(plan: &Plan, label: &str) -> OpId {
    plan.ops.iter().position(|op| op.label == label).unwrap()
}

/// Every share of an op.
fn shares<'a>(plan: &'a mut Plan, label: &str) -> impl Iterator<Item = &'a mut Share> + use<'a> {
    let op = op(plan, label);
    plan.queues.iter_mut().flat_map(|queue| &mut queue.tasks).filter(move |share| share.op == op)
}

/// Exchanges two tasks of a queue, and their segments with them.
fn swap(plan: &mut Plan, queue: usize, a: usize, b: usize) {
    let queue = &mut plan.queues[queue];
    queue.tasks.swap(a, b);
    for segment in &mut queue.stream {
        segment.task = if segment.task == a {
            b
        } else if segment.task == b {
            a
        } else {
            segment.task
        };
    }
    queue.stream.sort_by_key(|segment| segment.task);
}

fn position(plan: &Plan, queue: usize, label: &str) -> usize {
    let op = op(plan, label);
    plan.queues[queue].tasks.iter().position(|share| share.op == op).unwrap()
}

#[test]
fn sound_plans_are_proven() {
    for (size, workers, rows) in
        [(SMALL, 1, 1), (SMALL, 3, 1), (SMALL, 7, 16), (SMALL, 200, 4), (TWO_RANKS, 5, 2), (TWO_RANKS, 1, 1), (GRID_RANKS, 5, 1)]
    {
        let proof = verify(&plan(size, workers, rows)).unwrap();
        assert!(proof.tasks > 0 && proof.edges > 0 && proof.bytes > 0);
    }
}

#[test]
fn p0201_counts() {
    let p0201 = |needle: &str, spoil: fn(&mut Plan)| refused(TWO_RANKS, Code::P0201, needle, spoil);
    p0201("counts 5 arrivals a step, 4 arrive", |p| shares(p, "layer 1 silu_mul").next().unwrap().triggers.clear());
    p0201("arrives twice at the counter", |p| {
        let share = shares(p, "layer 1 silu_mul").next().unwrap();
        share.triggers.push(share.triggers[0]);
    });
    p0201("counts 6 arrivals a step, 5 arrive", |p| {
        let op = op(p, "layer 1 silu_mul");
        p.counters[op].arrivals += 1;
    });
    p0201("counts 0 arrivals", |p| {
        let op = op(p, "layer 1 silu_mul");
        p.counters[op].arrivals = 0;
    });
    p0201("triggers the counter of layer 1 add", |p| {
        let other = op(p, "layer 1 add");
        shares(p, "layer 1 silu_mul").next().unwrap().triggers[0].counter = other;
    });
    p0201("has gpu scope", |p| {
        let op = p.counters.iter().position(|c| c.scope == Scope::Sys).unwrap();
        p.counters[op].scope = Scope::Gpu;
    });
    p0201("is in its queue twice", |p| {
        let at = position(p, 2, "layer 1 silu_mul");
        let again = Share { triggers: Vec::new(), tiles: 0, ..p.queues[2].tasks[at].clone() };
        p.queues[2].tasks.insert(at + 1, again);
        p.queues[2].stream.iter_mut().filter(|s| s.task > at).for_each(|s| s.task += 1);
    });
}

#[test]
fn p0201_cycles() {
    refused(SMALL, Code::P0201, "waits go in a circle: ", |p| {
        let later = op(p, "layer 2 silu_mul");
        shares(p, "layer 1 silu_mul").for_each(|share| share.waits.push(later));
    });
    refused(SMALL, Code::P0201, "waits go in a circle: embedding → embedding", |p| {
        let own = op(p, "embedding");
        shares(p, "embedding").next().unwrap().waits.push(own);
    });
}

/// With many workers some do nothing but the last op: what comes before them in the next step says nothing about them.
fn spread_out(boundary: &[&str]) -> Vec<Violation> {
    let mut plan = plan(SMALL, 1000, 2);
    plan.boundary = boundary.iter().map(|label| op(&plan, label)).collect();
    verify(&plan).unwrap_err()
}

#[test]
fn p0201_epochs() {
    let violations = spread_out(&["embedding"]);
    let epochs = |v: &Violation| v.code == Code::P0201 && v.text.contains("may not have arrived for the step before");
    assert!(violations.iter().any(epochs), "{violations:#?}");
    let violations = spread_out(&[]);
    assert!(violations.iter().any(|v| v.code == Code::P0201 && v.text.contains("no op ends the step")));
}

#[test]
fn p0202_deadlock() {
    refused(SMALL, Code::P0202, "nobody can go on", |p| {
        let (a, b) = (position(p, 0, "layer 1 linear_v3"), position(p, 0, "layer 1 attention_partial"));
        swap(p, 0, a, b);
    });
    refused(TWO_RANKS, Code::P0202, "nobody can go on", |p| {
        let (a, b) = (position(p, 7, "layer 1 linear_v3"), position(p, 7, "layer 1 attention_partial"));
        swap(p, 7, a, b);
    });
}

#[test]
fn p0202_streams() {
    let p0202 = |needle: &str, spoil: fn(&mut Plan)| refused(SMALL, Code::P0202, needle, spoil);
    p0202("its tasks consume", |p| p.queues[1].stream.swap(0, 1));
    p0202("is nothing more", |p| p.queues[1].stream.truncate(3));
    p0202("its tasks consume nothing more", |p| {
        let last = p.queues[1].stream.last().unwrap().clone();
        p.queues[1].stream.push(last);
    });
    p0202("its tasks consume", |p| p.queues[1].stream[2].pages += 1);
    p0202("strips", |p| {
        let PageSource::Static { first_strip, .. } = &mut p.queues[1].stream[2].source;
        *first_strip += 1;
    });
    p0202("can't pass a page", |p| p.ring.in_flight = p.ring.stages + 1);
    p0202("can't pass a page", |p| p.ring.stages = 0);
}

#[test]
fn p0203_tiles() {
    let p0203 = |needle: &str, spoil: fn(&mut Plan)| refused(SMALL, Code::P0203, needle, spoil);
    let label = "layer 1 silu_mul";
    assert_eq!(shares(&mut sound(SMALL), label).count(), 5);
    p0203("tiles 0..2 belong to no worker", |p| shares(p, "layer 1 silu_mul").next().unwrap().tiles = 0);
    p0203("belong to worker 1 and to another worker", |p| {
        let share = shares(p, "layer 1 silu_mul").nth(1).unwrap();
        (share.first, share.tiles) = (share.first - 1, share.tiles + 1);
    });
    p0203("there are 10", |p| shares(p, "layer 1 silu_mul").last().unwrap().tiles += 1);
    p0203("there are 10", |p| shares(p, "layer 1 silu_mul").last().unwrap().first = usize::MAX);
    p0203("belong to no worker", |p| {
        // Duplicated in one place, missing in another.
        let first = shares(p, "layer 1 silu_mul").next().unwrap().first;
        shares(p, "layer 1 silu_mul").nth(1).unwrap().first = first;
    });
    p0203("is planned as 11 tiles, its signature cuts it into 10", |p| {
        let op = op(p, "layer 1 silu_mul");
        p.ops[op].tiles += 1;
    });
}

#[test]
fn p0203_order() {
    let reads = "no chain of edges puts the write before the read";
    refused(SMALL, Code::P0203, reads, |p| shares(p, "layer 1 silu_mul").next().unwrap().waits.clear());
    // The counts agree, and still one worker is not waited for.
    refused(SMALL, Code::P0203, reads, |p| {
        let op = op(p, "layer 1 silu_mul");
        p.counters[op].arrivals -= 1;
        shares(p, "layer 1 silu_mul").next().unwrap().triggers.clear();
    });
    // No trigger to other ranks: each would sum what it finds.
    refused(TWO_RANKS, Code::P0203, "reads what layer 2 linear_v3 writes on rank", |p| {
        let op = p.graph.tensors[p.graph.ops[op(p, "layer 2 all_reduce")].reads().next().unwrap()].writer;
        p.counters[op].arrivals /= 2;
        let workers = p.options.workers;
        for (q, queue) in p.queues.iter_mut().enumerate() {
            queue.tasks.iter_mut().filter(|s| s.op == op).for_each(|s| s.triggers.retain(|t| t.rank == q / workers));
        }
    });
}

#[test]
fn p0203_overwrites() {
    let overwrites = "no chain of edges puts that first";
    // The input and the output of one op.
    refused(SMALL, Code::P0203, overwrites, |p| {
        let silu = &p.graph.ops[op(p, "layer 1 silu_mul")];
        let (x, y) = (silu.reads().next().unwrap(), silu.writes().next().unwrap());
        p.tensors[y] = p.tensors[x];
    });
    // The residual is still needed when the projection is written.
    refused(SMALL, Code::P0203, "of the same step reads", |p| {
        let add = &p.graph.ops[op(p, "layer 1 add")];
        let (o, x) = (add.reads().next().unwrap(), add.reads().nth(1).unwrap());
        p.tensors[o] = p.tensors[x];
    });
    // Another rank may still read the values of the step before.
    refused(TWO_RANKS, Code::P0203, "of the step before", |p| {
        p.buffers.iter_mut().filter(|b| b.sources > 1).for_each(|b| b.parity = 1);
    });
    refused(SMALL, Code::P0203, "the buffer of the model's output", |p| {
        let embedding = p.graph.ops[0].writes().next().unwrap();
        p.buffers[p.tensors[p.graph.output]].bytes = 1 << 20;
        p.tensors[embedding] = p.tensors[p.graph.output];
    });
    refused(SMALL, Code::P0203, "the buffer of the model's logits", |p| {
        let partial = p.graph.ops[op(p, "argmax_partial")].writes().next().unwrap();
        p.tensors[partial] = p.tensors[p.graph.logits().unwrap()];
    });
}

#[test]
fn p0204_shared_memory() {
    let p0204 = |needle: &str, spoil: fn(&mut Plan)| refused(SMALL, Code::P0204, needle, spoil);
    p0204("`ring` and `barriers` overlap", |p| p.shared[1].offset -= 1024);
    p0204("is not aligned to", |p| p.shared[1].offset += 8);
    p0204("ends beyond", |p| p.options.shared_memory = 100_000);
    p0204("ends beyond", |p| p.shared[0].bytes = usize::MAX);
    p0204("no region `ring`", |p| drop(p.shared.remove(0)));
    p0204("no region `activations`", |p| p.shared.retain(|r| r.name != "activations"));
    p0204("no region `activations`", |p| p.shared.iter_mut().find(|r| r.name == "activations").unwrap().bytes -= 128);
    // As large as the barriers of the stages alone.
    p0204("no region `barriers` of 2048 bytes", |p| p.shared[1].bytes = p.ring.stages * 16);
    p0204("no region `linear_v3.part`", |p| p.shared.retain(|r| r.name != "linear_v3.part"));
    p0204("`attention_partial.scores` and `attention_partial.acc` overlap", |p| {
        let scores = p.shared.iter().find(|r| r.name.ends_with("scores")).unwrap().offset;
        p.shared.iter_mut().find(|r| r.name.ends_with("acc")).unwrap().offset = scores;
    });
}

#[test]
fn p0204_buffers_and_indices() {
    let p0204 = |needle: &str, spoil: fn(&mut Plan)| refused(TWO_RANKS, Code::P0204, needle, spoil);
    p0204("bytes, buffer 0 has 256", |p| p.buffers[0].bytes = 256);
    p0204("buffer 0 has 18446744073709551615 bytes", |p| p.buffers[0].bytes = usize::MAX);
    p0204("buffer 0 has 1049000 bytes", |p| p.buffers[0].bytes = 1_049_000);
    p0204("has 3 copies by step parity", |p| p.buffers[0].parity = 3);
    p0204("has room for 1", |p| p.buffers.iter_mut().for_each(|b| b.sources = 1));
    p0204("buffer 9999 of", |p| p.tensors[3] = 9999);
    p0204("trigger on rank 2 of 2", |p| p.queues[0].tasks[0].triggers[0].rank = 2);
    p0204("op of a task 1000000 of", |p| p.queues[0].tasks[0].op = 1_000_000);
    p0204("queues for 5 workers", |p| drop(p.queues.pop()));
    p0204("queues for 0 workers", |p| p.options.workers = 0);
    p0204("streamed weight", |p| {
        let PageSource::Static { weight, .. } = &mut p.queues[0].stream[0].source;
        *weight = usize::MAX;
    });
    p0204("packed as", |p| p.weights[0].bytes -= 512);
    p0204("has no state for its port `kv`", |p| drop(p.states.pop()));
    p0204("has a state of", |p| p.states[1].shape[0] -= 1);
    p0204("the KV cache has 1 pages", |p| {
        p.pages = 1;
        p.states.iter_mut().for_each(|state| state.shape[0] = 1);
    });
}

#[test]
fn p0205_grid_wide_tasks() {
    let p0205 = |needle: &str, spoil: fn(&mut Plan)| refused(GRID_RANKS, Code::P0205, needle, spoil);
    let swap_grids = |p: &mut Plan| {
        let (a, b) = (position(p, 7, "layer 0 grid_copy"), position(p, 7, "layer 1 grid_copy"));
        p.queues[7].tasks.swap(a, b);
    };
    let mut plan = sound(GRID_RANKS);
    swap_grids(&mut plan);
    assert!(verify(&plan).unwrap_err().iter().any(|v| v.code == Code::P0205 && v.text.contains("hold its SM")));
    let mut plan = sound(GRID_RANKS);
    let at = position(&plan, 3, "layer 1 grid_copy");
    plan.queues[3].tasks.remove(at);
    plan.queues[3].stream.iter_mut().filter(|s| s.task > at).for_each(|s| s.task -= 1);
    assert!(
        verify(&plan)
            .unwrap_err()
            .iter()
            .any(|v| v.code == Code::P0205 && v.text.contains("has 0 instances on worker 3 of rank 0"))
    );
    p0205("instance 2 belongs there", |p| {
        let (a, b) = (position(p, 2, "layer 1 grid_copy"), position(p, 3, "layer 1 grid_copy"));
        p.queues[2].tasks[a].first = 3;
        p.queues[3].tasks[b].first = 2;
    });
}

#[test]
fn p0206_workers_are_resident() {
    let plan = sound(SMALL);
    assert!(resident(&plan, 5, 227 * 1024).is_ok());
    let text = resident(&plan, 4, 227 * 1024).unwrap_err().to_string();
    assert!(text.starts_with("MPK-P0206: the plan has 5 workers, the device has 4"), "{text}");
    assert!(resident(&plan, 5, 99 * 1024).unwrap_err().to_string().starts_with("MPK-P0206: a worker needs"));
}

#[test]
fn p0207_slices() {
    let full = graph(SMALL, None);
    let slice = graph(SMALL, Some(1..2));
    assert!(slice_keeps_head_and_tail(&full, &slice).is_ok());
    let refused = |needle: &str, spoil: fn(&mut crate::graph::Graph)| {
        let mut slice = slice.clone();
        spoil(&mut slice);
        let text = slice_keeps_head_and_tail(&full, &slice).unwrap_err().to_string();
        assert!(text.starts_with("MPK-P0207") && text.contains(needle), "{text}");
    };
    refused("argmax_reduce is missing", |g| drop(g.ops.pop()));
    refused("in the full model embedding stands there", |g| drop(g.ops.remove(0)));
    refused("is not in the full model", |g| g.ops.push(g.ops[0].clone()));
    refused("in the full model", |g| g.weights.swap(0, 1));
}

#[test]
fn p0208_boundary() {
    let violations = spread_out(&["layer 0 rmsnorm"]);
    let says = |needle: &str| violations.iter().any(|v| v.code == Code::P0208 && v.text.contains(needle));
    assert!(says("layer 2 attention_partial of the step before may still run: the state"), "{violations:#?}");
    assert!(says("the output that it wrote"), "{violations:#?}");
    assert!(violations.iter().any(|v| v.code == Code::P0203 && v.text.contains("of the step before")));
}

#[test]
fn a_large_plan_is_proven() {
    let plan = plan(QWEN3_8B, 132, 1);
    let start = std::time::Instant::now();
    let proof = verify(&plan).unwrap();
    println!("{} ops on 132 workers proven in {:?}: {proof:?}", plan.ops.len(), start.elapsed());
    assert!(proof.tasks > 25_000);
}
