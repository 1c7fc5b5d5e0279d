//! A model, its ops and their tasks in a crate that depends on `mpk-runtime` alone: built, planned, proven and run on the host.

#[cfg(test)]
mod checks;
mod tasks;

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

use mpk_runtime::cuda::codegen;
use mpk_runtime::graph::{Builder, Model, ModelConfig};
use mpk_runtime::host::{Executor, Tensors};
use mpk_runtime::plan::{Options, Plan};
use mpk_runtime::step::{Row, StepRows};
use mpk_runtime::{bf16, model, serde, verify};
use tasks::{add, lookup, scaled_project};

/// The numbers of a [`Bag`].
#[derive(Clone, serde::Deserialize)]
#[serde(crate = "mpk_runtime::serde")]
pub struct BagConfig {
    hidden_size: usize,
    vocab_size: usize,
    num_layers: usize,
    factor: f32,
}

impl ModelConfig for BagConfig {
    fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    fn max_positions(&self) -> usize {
        64
    }
}

model! {
    /// Adds a projection of the token to it, a few times.
    pub model Bag(cfg: BagConfig) {
        dims { H = hidden_size, V = vocab_size }

        lookup(table: [V, H]);

        layer layers[i in 0..cfg.num_layers] {
            residual { scaled_project(mix: [H, H], factor = cfg.factor) }
        }

        scaled_project(head: [V, H], factor = 1.0)
    }
}

/// Weights in memory.
struct Weights(HashMap<String, Vec<bf16>>);

impl Tensors for Weights {
    fn bf16(&self, names: &[String]) -> Option<&[bf16]> {
        self.0.get(names.first()?).map(Vec::as_slice)
    }
}

/// Small whole numbers: sums of them are exact, in any order.
fn weight(rows: usize, cols: usize, seed: usize) -> Vec<bf16> {
    let value = |i: usize| ((i * 7 + i / cols * 3 + seed) % 5) as f32 - 2.0;
    (0..rows * cols).map(|i| bf16::from_f32(value(i))).collect()
}

/// What the model is for one token, in the plainest way.
fn expected(cfg: &BagConfig, weights: &Weights, token: usize) -> Vec<f32> {
    let h = cfg.hidden_size;
    let tensor = |name: &str| &weights.0[&format!("{name}.weight")];
    let project = |x: &[f32], w: &[bf16], factor: f32| -> Vec<f32> {
        let x: Vec<f32> = x.iter().map(|v| bf16::from_f32(v * factor).to_f32()).collect();
        w.chunks(h).map(|row| row.iter().zip(&x).map(|(w, x)| w.to_f32() * x).sum()).collect()
    };
    let mut x: Vec<f32> = tensor("table")[token * h..(token + 1) * h].iter().map(|v| v.to_f32()).collect();
    for layer in 0..cfg.num_layers {
        let y = project(&x, tensor(&format!("layers.{layer}.mix")), cfg.factor);
        x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
    }
    project(&x, tensor("head"), 1.0)
}

fn main() -> Result<(), Box<dyn Error>> {
    // No dimension divides by 16, and none by the workers.
    let cfg = BagConfig { hidden_size: 90, vocab_size: 50, num_layers: 2, factor: 0.5 };
    let mut builder = Builder::new(Bag::NAME, 1, None, false);
    let output = Bag::build(&cfg, &mut builder)?;
    let limits = Options { workers: 3, rows: 4, slots: 1, context: 64, shared_memory: 227 * 1024 };
    let plan = Plan::new(builder.finish(output), limits)?;
    let proof = verify::verify(&plan).map_err(|violations| violations[0].text.clone())?;
    let source = codegen::generate(&plan)?.text;
    if !source.contains("lookup.cuh\"") {
        return Err("the body beside the source is not named in the kernel".into());
    }

    let (h, v) = (cfg.hidden_size, cfg.vocab_size);
    let named = [("table", v), ("layers.0.mix", h), ("layers.1.mix", h), ("head", v)];
    let named = named.iter().enumerate().map(|(i, (name, rows))| (format!("{name}.weight"), weight(*rows, h, i)));
    let weights = Arc::new(Weights(named.collect()));
    let output = plan.graph.output;
    let mut executor = Executor::new(Arc::new(plan), weights.clone(), 2)?;
    let tokens = [3u32, 49, 0];
    let row = |(position, token): (usize, &u32)| Row { slot: 0, position, token: *token, sample: true };
    executor.step(&StepRows::new(tokens.iter().enumerate().map(row).collect(), vec![vec![0]]))?;
    for (t, token) in tokens.iter().enumerate() {
        if executor.row(output, t) != expected(&cfg, &weights, *token as usize) {
            return Err(format!("row {t} is not what the model says").into());
        }
    }
    println!("{}: {} tasks proven, {} rows as expected", Bag::NAME, proof.tasks, tokens.len());
    Ok(())
}
