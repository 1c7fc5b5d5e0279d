//! Steps that do not end, steps that fail, and steps on any number of threads.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use half::bf16;

use super::{Executor, HostError, Tensors};
use crate::graph::{Builder, Input, OpCall, Value, WeightExpr};
use crate::mpk_task;
use crate::plan::{Options, Plan};
use crate::reference::dot;
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

/// Takes its time.
#[mpk_task(roles(consumer), tiles = N / 16)]
fn slow(x: In<[f32; (T, N)]>, y: Out<[f32; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0)); }
    reference! {
        if tiles.contains(&2) {
            std::thread::sleep(Duration::from_millis(200));
        }
        for t in y.rows() {
            for n in y.range() {
                y.set(t, n, x.row(t)[n]);
            }
        }
    }
}

/// `y = x · Wᵀ`.
#[mpk_task(roles(consumer), tiles = N / 16)]
fn product(x: In<[f32; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[f32; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0)); }
    reference! {
        for t in y.rows() {
            for n in y.range() {
                y.set(t, n, dot(&x.row(t), w.row(n)));
            }
        }
    }
}

/// The sum over ranks.
#[mpk_task(roles(consumer), tiles = N / 16, collective = sum)]
fn total(x: In<[f32; (T, N)]>, y: Out<[f32; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0)); }
    reference! {
        for t in y.rows() {
            for n in y.range() {
                y.set(t, n, (0..x.ranks()).map(|rank| x.rank(rank).row(t)[n]).sum());
            }
        }
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
    let mut value = builder.op(begin::DEF, call(None, vec![("N", Input::Whole(160))])).unwrap();
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
        let error = executor.step(&rows(0)).unwrap_err();
        let HostError::Hang(hang) = &error else { panic!("{error}") };
        for stuck in &hang.stuck {
            let named = (stuck.task.as_str(), stuck.site.as_str(), stuck.rank, stuck.wanted, stuck.seen);
            assert_eq!(named, ("sums", "begin", 0, WORKERS, WORKERS - 1));
        }
        // The open waits of all threads.
        assert_eq!(hang.stuck.iter().map(|stuck| stuck.worker).collect::<Vec<_>>(), (0..WORKERS).collect::<Vec<_>>());
        let text = error.to_string();
        assert!(text.contains("MPK-R0401") && text.contains("waits for begin, wanted 5, seen 4"), "{text}");
    }
}

#[test]
fn a_failing_reference_is_named_before_the_waits_it_leaves_open() {
    for threads in [1, 3] {
        let mut executor = executor(plan(&[fails::DEF, sums::DEF]), threads);
        let error = executor.step(&rows(0)).unwrap_err();
        let HostError::Task { task, rank, worker, message } = &error else { panic!("{error}") };
        // Tiles 2 and 3 belong to worker 1.
        assert_eq!((task.as_str(), *rank, *worker), ("fails", 0, 1));
        assert!(message.starts_with("no tile 2 here, at ") && message.contains("host/tests.rs:"), "{message}");
    }
}

#[test]
fn a_failing_reference_prints_nothing_itself() {
    let test = "host::tests::a_failing_reference_is_named_before_the_waits_it_leaves_open";
    let output = Command::new(std::env::current_exe().unwrap()).args([test, "--exact", "--nocapture"]).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("1 passed") && !stderr.contains("no tile 2 here"), "{stdout}{stderr}");
}

#[test]
fn a_task_that_takes_long_is_no_hang() {
    for threads in [1, 2, 5] {
        executor(plan(&[slow::DEF, sums::DEF]), threads).step(&rows(0)).unwrap();
    }
}

/// The numbers 1, 2, 3, … of every tensor.
struct Counting(Vec<bf16>);

impl Tensors for Counting {
    fn bf16(&self, _: &[String]) -> Option<&[bf16]> {
        Some(&self.0)
    }
}

#[test]
fn a_matrix_of_one_column_on_each_rank_is_no_bias() {
    let run = |ranks: usize| {
        let mut builder = Builder::new("test", ranks, None, false);
        let call = |chained: Option<Value>, named, shard| OpCall { chained, named, shard };
        let x = builder.op(begin::DEF, call(None, vec![("N", Input::Whole(2))], Shard::None)).unwrap();
        let w = |shape: &[usize]| Input::Weight(WeightExpr::module("w".into(), shape.to_vec()));
        let x = builder.op(product::DEF, call(Some(x), vec![("w", w(&[2, 2]))], Shard::Column)).unwrap();
        let y = builder.op(product::DEF, call(Some(x), vec![("w", w(&[2, 2]))], Shard::Row)).unwrap();
        let y = builder.op(total::DEF, call(Some(y), vec![], Shard::None)).unwrap();
        let options = Options { workers: WORKERS, rows: 4, slots: 1, context: 64, shared_memory: 227 * 1024 };
        let plan = Plan::new(builder.finish(y), options).unwrap();
        let tensors = Counting((1..=4).map(|n| bf16::from_f32(n as f32)).collect());
        let mut executor = Executor::new(Arc::new(plan), Arc::new(tensors), 2).unwrap();
        executor.step(&rows(0)).unwrap();
        executor.row(executor.plan().graph.output, 1)
    };
    let (one, two) = (run(1), run(2));
    assert!(one.iter().zip(&two).all(|(a, b)| (a - b).abs() < 1e-4 * a.abs()), "{one:?} {two:?}");
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
