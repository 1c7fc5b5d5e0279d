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
use mpk_runtime::cuda::executor::Executor as Cuda;
use mpk_runtime::cuda::nvrtc;
use mpk_runtime::cuda::weights::Host as HostWeights;
use mpk_runtime::graph::{NodeArg, WeightExpr};
use mpk_runtime::host::{Executor as Host, Tensors};
use mpk_runtime::plan::Plan;
use mpk_runtime::step::{PAGE_POSITIONS, Row, StepRows};
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
