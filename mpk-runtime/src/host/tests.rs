//! Steps that do not end, steps that fail, and steps on any number of threads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use half::bf16;

use super::{Executor, HostError, Tensors};
use crate::graph::{Builder, Input, OpCall, Value};
use crate::mpk_task;
use crate::plan::{Options, Plan};
use crate::shape::Shard;
use crate::step::{Row, StepRows};
use crate::task::{Op, OpDef};

/// Numbers of which no sum is exact.
#[mpk_task(roles(consumer), tiles = N / 16)]
fn begin(N: Param<u32>, rows: Rows, y: Out<[f32; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! {
        for t in y.rows() {
            for n in y.range() {
                y.set(t, n, 1.0 / (rows.get(t).token as f32 + n as f32 + 0.7));
            }
        }
    }
}

/// Each feature is the sum of all that come before it.
#[mpk_task(roles(consumer), tiles = N / 16)]
fn sums(x: In<[f32; (T, N)]>, y: Out<[f32; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0)); }
    reference! {
        for t in y.rows() {
            for n in y.range() {
                y.set(t, n, x.part(t, 0..n + 1).iter().sum());
            }
        }
    }
}

/// Fails in its third tile.
#[mpk_task(roles(consumer), tiles = N / 16)]
fn fails(x: In<[f32; (T, N)]>, y: Out<[f32; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0)); }
    reference! {
        assert!(!tiles.contains(&2), "no tile {} here", 2);
        y.set(0, y.range().start, x.row(0)[0]);
    }
}

struct NoWeights;

impl Tensors for NoWeights {
    fn bf16(&self, _: &[String]) -> Option<&[bf16]> {
        None
    }
}

const WORKERS: usize = 5;

/// `begin` and then these ops, each over 160 features: two tiles a worker.
fn plan(ops: &[OpDef]) -> Plan {
    let mut builder = Builder::new("test", 1, None, false);
    let call = |chained: Option<Value>, named| OpCall { chained, named, shard: Shard::None };
    let mut value = builder.op(begin::DEF, call(None, vec![("N", Input::U32(160))])).unwrap();
    for op in ops {
        value = builder.op(*op, call(Some(value), vec![])).unwrap();
    }
    let options = Options { workers: WORKERS, rows: 4, slots: 1, context: 64, shared_memory: 227 * 1024 };
    Plan::new(builder.finish(value), options).unwrap()
}

fn executor(plan: Plan, threads: usize) -> Executor {
    Executor::new(Arc::new(plan), Arc::new(NoWeights), threads).unwrap()
}

fn rows(step: usize) -> StepRows {
    let row = |position| Row { slot: 0, position, token: (step * 10 + position) as u32, sample: true };
    StepRows::new((0..3).map(row).collect(), vec![vec![0]])
}

#[test]
fn a_lost_trigger_ends_in_an_error_that_names_the_wait() {
    for threads in [1, 3] {
        let mut plan = plan(&[sums::DEF, sums::DEF]);
        plan.queues[3].tasks[0].triggers.clear();
        let mut executor = executor(plan, threads);
        executor.set_limit(Duration::from_millis(50));
        let began = Instant::now();
        let error = executor.step(&rows(0)).unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(10));
        let HostError::Hang(hang) = &error else { panic!("{error}") };
        for stuck in &hang.stuck {
            let named = (stuck.task.as_str(), stuck.site.as_str(), stuck.rank, stuck.wanted, stuck.seen);
            assert_eq!(named, ("sums", "begin", 0, WORKERS, WORKERS - 1));
        }
        let workers: Vec<usize> = hang.stuck.iter().map(|stuck| stuck.worker).collect();
        assert!(!workers.is_empty() && workers.iter().all(|worker| *worker < WORKERS));
        let text = error.to_string();
        assert!(text.contains("MPK-R0401") && text.contains("waits for begin, wanted 5, seen 4"), "{text}");
    }
}

#[test]
fn a_failing_reference_is_named_before_the_waits_it_leaves_open() {
    for threads in [1, 3] {
        let mut executor = executor(plan(&[fails::DEF, sums::DEF]), threads);
        executor.set_limit(Duration::from_millis(50));
        let error = executor.step(&rows(0)).unwrap_err();
        let HostError::Task { task, rank, worker, message } = &error else { panic!("{error}") };
        // Tiles 2 and 3 belong to worker 1.
        assert_eq!((task.as_str(), *rank, *worker, message.as_str()), ("fails", 0, 1, "no tile 2 here"));
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let run = |threads| {
        let mut executor = executor(plan(&[sums::DEF, sums::DEF, sums::DEF]), threads);
        let output = executor.plan().graph.output;
        let step = |step| {
            executor.step(&rows(step)).unwrap();
            executor.bytes(0, output, 3)
        };
        (0..4).map(step).collect::<Vec<_>>()
    };
    let one = run(1);
    assert!(one[0] != one[1] && one[0].iter().any(|byte| *byte != 0));
    assert!(run(2) == one && run(5) == one);
}
