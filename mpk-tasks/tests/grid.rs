//! A model that ends in a grid-wide task: it gives what the chain of two tasks gives, its plan is proven, and a plan in which an
//! instance is missing is refused; run nevertheless, it ends in an error that names the barrier.

// The lints allow `unwrap` in test functions, and not in what they call.
#![allow(clippy::unwrap_used)]

use std::mem::offset_of;
use std::sync::Arc;

use mpk_runtime::check::Random;
use mpk_runtime::cuda::abi;
use mpk_runtime::cuda::codegen;
use mpk_runtime::cuda::nvrtc::{self, NvrtcError};
use mpk_runtime::cuda::tables::{self, Addresses};
use mpk_runtime::graph::{Builder, Model, ModelConfig};
use mpk_runtime::host::{Executor, HostError, Tensors};
use mpk_runtime::plan::{Options, Plan};
use mpk_runtime::shape::Elem;
use mpk_runtime::step::{Row, StepRows};
use mpk_runtime::task::Task;
use mpk_runtime::verify::{Code, verify};
use mpk_runtime::{bf16, model};
use mpk_tasks::{argmax, argmax_grid, argmax_partial, embedding, linear_v3, rmsnorm, tensor_init};

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
    /// As `Grid`, with a count that does not begin at 0.
    pub model Counted(cfg: Config) {
        dims { H = hidden, V = vocab }
        let seen = tensor_init(N = 1_usize, value = 7000_usize);
        embedding(embed: [V, H]);
        rmsnorm(norm: [H], eps = 1e-6) -> linear_v3(head: [V, H], y = f32) -> argmax_grid(seen = seen);
    }
}

model! {
    /// A state that is set in every step.
    pub model Reset(cfg: Config) {
        dims { H = hidden, V = vocab }
        embedding(embed: [V, H]);
        let logits = rmsnorm(norm: [H], eps = 1e-6) -> linear_v3(head: [V, H], y = f32);
        let keys = logits -> argmax_partial;
        logits -> argmax_grid(seen = keys);
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

/// The count of instances after each of three steps, out of the state that is bound to `seen`.
fn counts(plan: Plan) -> Vec<u64> {
    let port = |name: &str| argmax_grid::TASK.signature.ports.iter().position(|port| port.name == name).unwrap();
    let (op, seen) = (plan.graph.ops.len() - 1, port("seen"));
    let state = plan.states.iter().position(|state| (state.op, state.port) == (op, seen)).unwrap();
    let mut executor = executor(plan, 3);
    executor.set_poison(true);
    let count = |step| {
        executor.step(&rows(step, 2)).unwrap();
        u64::from_le_bytes(executor.state(0, state)[..8].try_into().unwrap())
    };
    (0..3).map(count).collect()
}

#[test]
fn a_state_is_initialised_once_and_then_only_grows() {
    assert_eq!(counts(plan::<Grid>()), [7, 14, 21]);
    let counted = plan::<Counted>();
    verify(&counted).unwrap();
    assert_eq!(counts(counted), [7007, 7014, 7021]);
    assert_eq!(tokens(plan::<Counted>(), 2), tokens(plan::<Chain>(), 1));
    let mut builder = Builder::new("reset", 1, None, false);
    let error = Reset::build(&CONFIG, &mut builder).unwrap_err().to_string();
    assert!(error.contains("MPK-E0121: `seen`") && error.contains("argmax_partial writes in every step"), "{error}");
}

#[test]
fn what_is_written_once_shares_its_memory_with_nobody() {
    let mut plan = plan::<Counted>();
    let init = plan.graph.ops.iter().position(|node| node.task.once).unwrap();
    let held = plan.graph.ops[init].writes().next().unwrap();
    let other = (0..plan.tensors.len()).rfind(|t| *t != held).unwrap();
    assert!((0..plan.tensors.len()).all(|t| t == held || plan.tensors[t] != plan.tensors[held]));
    plan.tensors[held] = plan.tensors[other];
    let violations = verify(&plan).unwrap_err();
    assert!(violations.iter().any(|v| v.code == Code::P0203 && v.to_string().contains("written once")), "{violations:?}");
}

#[test]
fn what_is_held_belongs_to_every_wait() {
    let plan = plan::<Counted>();
    let source = codegen::generate(&plan).unwrap();
    let zeros = |count: usize| vec![0; count];
    let at = Addresses {
        buffers: zeros(plan.buffers.len()),
        states: zeros(plan.states.len()),
        weights: zeros(plan.weights.len()),
        ropes: zeros(plan.graph.ops.len()),
        ..Addresses::default()
    };
    let op = plan.graph.ops.len() - 1;
    let share = plan.queues[0].tasks.iter().position(|share| share.op == op).unwrap();
    let packets = tables::queue(&plan, &source, &at, 0).unwrap().packets;
    let packet = &packets[share * source.packets.bytes..];
    let half = |at: usize| u16::from_le_bytes([packet[at], packet[at + 1]]);
    let header = |field: usize| usize::from(half(field));
    let (waits, count) = (header(offset_of!(abi::Packet, waits)), header(offset_of!(abi::Packet, wait_count)));
    let ports = (0..count).map(|i| half(waits + i * size_of::<abi::Wait>() + offset_of!(abi::Wait, ports)));
    // The logits at port 0 by name, the count by any name.
    let mut ports: Vec<u16> = ports.collect();
    ports.sort_unstable();
    assert_eq!(ports, [1, u16::MAX]);
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
    let Err(HostError::Hang(hang)) = executor.step(&rows(0, 2)) else { panic!("it ran") };
    let stuck = hang.stuck.iter().find(|stuck| stuck.task == "argmax_grid").unwrap();
    assert_eq!((stuck.site.as_str(), stuck.wanted, stuck.seen), ("its grid barrier", WORKERS, WORKERS - 1));
}

#[test]
fn it_compiles_for_a_gpu() {
    let source = codegen::generate(&plan::<Counted>()).unwrap();
    assert!(source.text.contains("if (worker.epoch == 1)"), "what runs once is not guarded");
    match nvrtc::compile(&source.text, &source.headers, "sm_90a") {
        Err(error @ NvrtcError::Missing { .. }) => eprintln!("it_compiles_for_a_gpu skipped: {error}"),
        Err(error) => panic!("{error}"),
        Ok(cubin) => assert!(cubin.resources.iter().all(|r| r.spill_stores == 0), "{}", cubin.log),
    }
}
