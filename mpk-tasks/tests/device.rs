//! The resident kernel against the host executor, on a GPU: the same plan, the same tokens, logits within rounding.
//!
//! Without a GPU of the Hopper generation or without NVRTC there is nothing to run, which is then said.

// The lints allow `unwrap` in test functions, and not in what they call.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::HashMap;
use std::sync::Arc;

use common::{Config, plan};
use mpk_runtime::bf16;
use mpk_runtime::cuda::driver::Device;
use mpk_runtime::cuda::error::CudaError;
use mpk_runtime::cuda::executor::Executor as Cuda;
use mpk_runtime::cuda::fault::Fault;
use mpk_runtime::cuda::nvrtc;
use mpk_runtime::cuda::weights::Host as HostWeights;
use mpk_runtime::graph::{NodeArg, WeightExpr};
use mpk_runtime::host::{Executor as Host, Tensors};
use mpk_runtime::plan::Plan;
use mpk_runtime::step::{Command, PAGE_POSITIONS, Row, Sampled, StepRows};
use mpk_runtime::task::TaskDef;
use mpk_tasks::TASKS;

const SMALL: Config = Config { hidden: 256, inner: 704, layers: 2, heads: 8, kv_heads: 2, head_dim: 64, vocab: 1536 };
const ODD: Config = Config { hidden: 190, inner: 450, layers: 3, heads: 6, kv_heads: 2, head_dim: 48, vocab: 1001 };
const WIDE: Config = Config { hidden: 4096, inner: 12_288, layers: 1, heads: 32, kv_heads: 8, head_dim: 128, vocab: 4096 };

/// Weights of a fixed pseudo-random sequence: norms about 1, matrices of variance about 1 / inputs.
struct Random(HashMap<String, Vec<bf16>>);

impl Tensors for Random {
    fn bf16(&self, names: &[String]) -> Option<&[bf16]> {
        names.iter().find_map(|name| self.0.get(name)).map(Vec::as_slice)
    }
}

fn weights(plan: &Plan) -> Random {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let mut tensors = HashMap::new();
    for source in plan.graph.weights.iter().flat_map(WeightExpr::sources) {
        let len = source.shape.iter().product::<usize>();
        let values = match source.shape[..] {
            [_, inputs] => (0..len).map(|_| bf16::from_f32(next() * (3.0 / inputs as f32).sqrt())).collect(),
            _ => (0..len).map(|_| bf16::from_f32(1.0 + 0.2 * next())).collect(),
        };
        tensors.insert(source.names[0].clone(), values);
    }
    Random(tensors)
}

/// The GPU; `None` with a word of why if there is none that can run the kernel, or no NVRTC.
fn gpu(test: &str) -> Option<Device> {
    let gpu = nvrtc::load().map_err(|error| error.to_string()).and_then(|_| Device::open().map_err(|error| error.to_string()));
    gpu.map_err(|why| eprintln!("{test} skipped: {why}")).ok()
}

/// Runs `prompt` and `steps` tokens after it on both; compares tokens, and the logits of every sampling step.
fn compare(test: &str, config: &Config, rows: usize, peepholes: &[&'static TaskDef], prompt: usize, steps: usize) {
    let Some(device) = gpu(test) else { return };
    let plan = Arc::new(plan(config, device.multiprocessors, 1, rows, peepholes));
    let tensors = Arc::new(weights(&plan));
    let mut host = Host::new(Arc::clone(&plan), tensors.clone(), 2).unwrap();
    let mut gpu = Cuda::new(device, Arc::clone(&plan), &HostWeights(&*tensors)).unwrap();
    // What the first task of the argmax reads.
    let node = plan.graph.ops.iter().find(|node| node.task.name == "argmax_partial").unwrap();
    let NodeArg::In(logits) = node.args[0] else { panic!("no logits") };

    let mut tokens: Vec<u32> = (0..prompt).map(|i| (i * 37 % config.vocab) as u32).collect();
    let slot_pages = plan.options.context.div_ceil(PAGE_POSITIONS);
    let pages: Vec<Vec<usize>> =
        (0..plan.options.slots).map(|slot| (slot * slot_pages..(slot + 1) * slot_pages).collect()).collect();
    let (mut done, mut worst) = (0, 0f32);
    while tokens.len() < prompt + steps {
        let end = tokens.len().min(done + rows);
        let row = |i: usize| Row { slot: 0, position: i, token: tokens[i], sample: i + 1 == tokens.len() };
        let step = StepRows::new((done..end).map(row).collect(), pages.clone());
        host.step(&step).unwrap();
        gpu.step(&step).unwrap();
        let last = end - done - 1;
        let (ours, theirs) = (gpu.row(logits, last).unwrap(), host.row(logits, last));
        let largest = theirs.iter().fold(0f32, |m, v| m.max(v.abs()));
        let difference = ours.iter().zip(&theirs).fold(0f32, |m, (a, b)| m.max((a - b).abs()));
        assert!(difference <= 2e-2 * largest, "{test}, position {}: logits differ by {difference} of {largest}", end - 1);
        worst = worst.max(difference / largest);
        done = end;
        if done == tokens.len() {
            let token = host.word(plan.graph.output, last) as u32;
            assert_eq!(gpu.row(plan.graph.output, last).unwrap(), [token as f32], "{test}, position {}: token", end - 1);
            tokens.push(token);
        }
    }
    eprintln!("{test}: {} positions, largest difference of a logit {worst:.1e} of the largest", tokens.len());
}

#[test]
fn one_row_agrees_with_the_host() {
    compare("one row", &SMALL, 1, TASKS, 5, 12);
}

#[test]
fn sixteen_rows_agree_with_the_host() {
    compare("sixteen rows", &SMALL, 16, TASKS, 40, 12);
}

#[test]
fn the_unfused_chain_agrees_with_the_host() {
    compare("chain", &SMALL, 4, &[], 9, 6);
}

#[test]
fn sizes_that_divide_by_nothing_agree_with_the_host() {
    compare("odd sizes", &ODD, 16, TASKS, 19, 6);
}

#[test]
fn a_wide_layer_agrees_with_the_host() {
    compare("wide layer", &WIDE, 16, TASKS, 17, 3);
}

#[test]
fn a_long_sequence_agrees_with_the_host() {
    compare("long sequence", &SMALL, 16, TASKS, 700, 4);
}

fn pages(plan: &Plan) -> Vec<Vec<usize>> {
    let slot_pages = plan.options.context.div_ceil(PAGE_POSITIONS);
    (0..plan.options.slots).map(|slot| (slot * slot_pages..(slot + 1) * slot_pages).collect()).collect()
}

/// One row: the first token of a sequence.
fn first_row(plan: &Plan) -> StepRows {
    StepRows::new(vec![Row { slot: 0, position: 0, token: 3, sample: true }], pages(plan))
}

/// Runs a command to its end.
fn run(gpu: &mut Cuda, command: &Command) -> Result<Vec<Sampled>, CudaError> {
    gpu.start(command)?;
    let mut all = Vec::new();
    while let Some(sampled) = gpu.receive()? {
        all.extend(sampled);
    }
    Ok(all)
}

#[test]
fn many_steps_of_one_command_are_those_of_many_commands() {
    let test = "one command";
    let Some(device) = gpu(test) else { return };
    let plan = Arc::new(plan(&SMALL, device.multiprocessors, 1, 16, TASKS));
    let tensors = weights(&plan);
    let mut gpu = Cuda::new(device, Arc::clone(&plan), &HostWeights(&tensors)).unwrap();
    let mut command = Command { rows: first_row(&plan), steps: 40, stops: Vec::new() };
    let all = run(&mut gpu, &command).unwrap();
    assert_eq!(all.iter().map(|s| s.position).collect::<Vec<_>>(), (1..=40).collect::<Vec<_>>());

    let mut single = Some(Command::once(first_row(&plan)));
    for expected in &all {
        let Some(command) = single.take() else { panic!("no next step") };
        let (rows, given) = (command.rows.clone(), run(&mut gpu, &command).unwrap());
        assert_eq!(given, [*expected]);
        single = Command { rows, steps: 2, stops: Vec::new() }.after(|_| expected.token).1.map(|next| Command::once(next.rows));
    }

    command.stops = vec![all[7].token];
    let first = all.iter().position(|s| s.token == all[7].token).unwrap();
    assert_eq!(run(&mut gpu, &command).unwrap(), all[..=first], "ends with its stop token");

    // Given up in the middle, the next command is not touched by what was left.
    command.stops.clear();
    gpu.start(&command).unwrap();
    assert_eq!(gpu.receive().unwrap(), Some(vec![all[0]]));
    assert_eq!(run(&mut gpu, &command).unwrap(), all);
}

/// Plants `fault` in a good plan, and gives what the watchdog says of it. Then a good plan runs in the same process.
fn planted(test: &str, fault: impl Fn(&mut Plan)) -> Option<Fault> {
    let device = gpu(test)?;
    let good = plan(&SMALL, device.multiprocessors, 1, 16, TASKS);
    let tensors = weights(&good);
    let mut bad = good.clone();
    fault(&mut bad);
    let rows = first_row(&good);
    let mut executor = Cuda::new(device, Arc::new(bad), &HostWeights(&tensors)).unwrap();
    let error = executor.step(&rows).unwrap_err();
    let again = executor.step(&rows).unwrap_err();
    assert_eq!(again.to_string(), error.to_string(), "the executor has begun anew");
    drop(executor);
    let mut executor = Cuda::new(gpu(test)?, Arc::new(good), &HostWeights(&tensors)).unwrap();
    executor.step(&rows).unwrap();
    eprintln!("{test}: {error}");
    match error {
        CudaError::Fault(fault) => Some(fault),
        other => panic!("{other}"),
    }
}

#[test]
fn a_task_that_never_triggers_is_named() {
    let op = 4;
    let planted = planted("never triggers", |plan| {
        let share = plan.queues.iter_mut().flat_map(|q| &mut q.tasks).find(|share| share.op == op).unwrap();
        share.triggers.clear();
    });
    let Some(fault) = planted else { return };
    assert_eq!((fault.role, fault.wanted, fault.seen + 1, fault.step), ("consumer", fault.wanted, fault.wanted, 1));
    assert!(fault.task.is_some(), "{fault}");
}

#[test]
fn a_wait_for_one_too_many_is_named() {
    let planted = planted("one too many", |plan| plan.counters[2].arrivals += 1);
    let Some(fault) = planted else { return };
    assert_eq!((fault.role, fault.wanted, fault.step), ("consumer", fault.seen + 1, 1));
}
