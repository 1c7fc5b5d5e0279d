//! A model that ends in a grid-wide task: it gives what the chain of two tasks gives, its plan is proven, and a plan in which an
//! instance is missing is refused; run nevertheless, it ends in an error that names the barrier.

use std::sync::Arc;
use std::time::Duration;

use mpk_runtime::check::Random;
use mpk_runtime::cuda::codegen;
use mpk_runtime::cuda::nvrtc::{self, NvrtcError};
use mpk_runtime::graph::{Builder, Model, ModelConfig};
use mpk_runtime::host::{Executor, HostError, Tensors};
use mpk_runtime::plan::{Options, Plan};
use mpk_runtime::shape::Elem;
use mpk_runtime::step::{Row, StepRows};
use mpk_runtime::verify::{Code, verify};
use mpk_runtime::{bf16, model};
use mpk_tasks::{argmax, argmax_grid, embedding, linear_v3, rmsnorm};

/// What the models are made from.
#[derive(serde::Deserialize)]
pub struct Config {
    hidden: usize,
    vocab: usize,
}

impl ModelConfig for Config {
    fn vocab_size(&self) -> usize {
        self.vocab
    }

    fn max_positions(&self) -> usize {
        64
    }
}

const CONFIG: Config = Config { hidden: 96, vocab: 1003 };
const WORKERS: usize = 7;

model! {
    /// The largest logit, found grid-wide.
    pub model Grid(cfg: Config) {
        dims { H = hidden, V = vocab }
        embedding(embed: [V, H]);
        rmsnorm(norm: [H], eps = 1e-6) -> linear_v3(head: [V, H], y = f32) -> argmax_grid;
    }
}

model! {
    /// The largest logit, found by blocks.
    pub model Chain(cfg: Config) {
        dims { H = hidden, V = vocab }
        embedding(embed: [V, H]);
        rmsnorm(norm: [H], eps = 1e-6) -> linear_v3(head: [V, H], y = f32) -> argmax;
    }
}

fn plan<M: Model<Config = Config>>() -> Plan {
    let mut builder = Builder::new(M::NAME, 1, None, false);
    let output = M::build(&CONFIG, &mut builder).unwrap();
    let options = Options { workers: WORKERS, rows: 16, slots: 1, context: 64, shared_memory: 227 * 1024 };
    Plan::new(builder.finish(output), options).unwrap()
}

/// A table, a norm and a head of random numbers.
struct Weights {
    table: Vec<bf16>,
    norm: Vec<bf16>,
    head: Vec<bf16>,
}

impl Tensors for Weights {
    fn bf16(&self, names: &[String]) -> Option<&[bf16]> {
        match names[0].as_str() {
            "embed.weight" => Some(&self.table),
            "norm.weight" => Some(&self.norm),
            "head.weight" => Some(&self.head),
            _ => None,
        }
    }
}

fn executor(plan: Plan, threads: usize) -> Executor {
    let mut random = Random::new(1);
    let mut numbers =
        |rows, cols| -> Vec<bf16> { random.matrix(Elem::Bf16, rows, cols).data().iter().copied().map(bf16::from_f64).collect() };
    let Config { hidden, vocab } = CONFIG;
    let weights = Weights { table: numbers(vocab, hidden), norm: numbers(hidden, 1), head: numbers(vocab, hidden) };
    Executor::new(Arc::new(plan), Arc::new(weights), threads).unwrap()
}

fn rows(step: usize, count: usize) -> StepRows {
    let row = |i: usize| Row { slot: 0, position: i, token: (step * 331 + i * 97) as u32 % 1003, sample: true };
    StepRows::new((0..count).map(row).collect(), vec![vec![0]])
}

fn tokens(plan: Plan, threads: usize) -> Vec<u64> {
    let mut executor = executor(plan, threads);
    executor.set_poison(true);
    let mut tokens = Vec::new();
    for (step, count) in [1, 16, 5, 1].into_iter().enumerate() {
        executor.step(&rows(step, count)).unwrap();
        tokens.extend((0..count).map(|t| executor.word(executor.plan().graph.output, t)));
    }
    tokens
}

#[test]
fn grid_wide_and_by_blocks_give_the_same_tokens() {
    let grid = plan::<Grid>();
    verify(&grid).unwrap();
    let expected = tokens(plan::<Chain>(), 1);
    assert!(expected.iter().any(|token| *token != expected[0]));
    for threads in [1, 2, 5] {
        assert_eq!(tokens(plan::<Grid>(), threads), expected, "{threads} threads");
    }
}

#[test]
fn every_worker_has_one_instance_at_the_same_place() {
    let mut plan = plan::<Grid>();
    let op = plan.graph.ops.len() - 1;
    assert!(plan.graph.ops[op].task.grid);
    for (worker, queue) in plan.queues.iter().enumerate() {
        let shares: Vec<_> = queue.tasks.iter().filter(|share| share.op == op).map(|share| (share.first, share.tiles)).collect();
        assert_eq!(shares, [(worker, 1)]);
    }
    plan.queues[3].tasks.retain(|share| share.op != op);
    let violations = verify(&plan).unwrap_err();
    assert!(violations.iter().any(|v| v.code == Code::P0205), "{violations:?}");
}

#[test]
fn a_missing_instance_hangs_at_the_barrier_and_is_named() {
    let mut plan = plan::<Grid>();
    let op = plan.graph.ops.len() - 1;
    plan.queues[3].tasks.retain(|share| share.op != op);
    let mut executor = executor(plan, 2);
    executor.set_limit(Duration::from_millis(50));
    let Err(HostError::Hang(hang)) = executor.step(&rows(0, 2)) else { panic!("it ran") };
    let stuck = hang.stuck.iter().find(|stuck| stuck.task == "argmax_grid").unwrap();
    assert_eq!((stuck.site.as_str(), stuck.wanted, stuck.seen), ("its grid barrier", WORKERS, WORKERS - 1));
}

#[test]
fn it_compiles_for_a_gpu() {
    let source = codegen::generate(&plan::<Grid>()).unwrap();
    match nvrtc::compile(&source.text, &source.headers, "sm_90a") {
        Err(error @ NvrtcError::Missing { .. }) => eprintln!("it_compiles_for_a_gpu skipped: {error}"),
        Err(error) => panic!("{error}"),
        Ok(cubin) => assert!(cubin.resources.iter().all(|r| r.spill_stores == 0), "{}", cubin.log),
    }
}
