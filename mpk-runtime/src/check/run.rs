//! Runs one case: its graph, its plan and the proof of it, its steps, and the comparisons.

use std::sync::Arc;

use half::bf16;

use super::case::{Case, Expect, Fed, Target, of_rank};
use super::machine::{Machine, Start};
use super::{Check, Failure, Figures, Matrix, compare, feed};
use crate::engine::HOPPER_SHARED_MEMORY;
use crate::graph::{Builder, Graph, Input, NodeArg, OpCall, TensorId, WeightExpr};
use crate::host::Tensors;
use crate::plan::{Options, Plan};
use crate::shape::{Place, Shard};
use crate::verify::verify;

/// Workers of a plan: an odd number, so that runs of tiles are of unequal length.
pub const WORKERS: usize = 5;
/// Rows of a plan: a step may have fewer.
const ROWS: usize = 16;

/// What came of a case.
pub(super) struct Outcome {
    pub(super) figures: Figures,
    /// Wrong results that were refused, of so many.
    pub(super) refused: usize,
    pub(super) mutants: usize,
    /// What differs, and mutants that were taken for right.
    pub(super) failures: Vec<String>,
}

/// Runs a case of `check`.
pub(super) fn case(check: &Check, case: &Case, start: Start) -> Result<Outcome, Failure> {
    let plan = plan(check, case)?;
    verify(&plan).map_err(crate::engine::Error::Unproven)?;
    let plan = Arc::new(plan);
    let weights = case.weights.iter().map(|weight| (weight.port, weight.data.clone())).collect();
    let mut run = Run { check, plan: plan.clone(), machine: (start.begin)(plan, Arc::new(Weights(weights)))? };
    for (port, before) in &case.states {
        let (at, elem) = run.state(port)?;
        for rank in 0..case.ranks {
            run.machine.set_state(rank, at, &before.encode(elem))?;
        }
    }
    let mut outcome = Outcome { figures: Figures::EXACT, refused: 0, mutants: 0, failures: Vec::new() };
    for step in &case.steps {
        for (op, (fed, values)) in case.inputs.iter().zip(&step.inputs).enumerate() {
            run.feed(op, fed, values, case.ranks)?;
        }
        run.machine.step(&step.rows)?;
        for expect in &step.expects {
            for rank in 0..case.ranks {
                let result = run.result(rank, expect, step.rows.len())?;
                outcome.judge(expect, rank, &result);
            }
        }
    }
    Ok(outcome)
}

impl Outcome {
    fn judge(&mut self, expect: &Expect, rank: usize, result: &Matrix) {
        let Some(definition) = of_rank(&expect.definition, rank) else { return };
        match compare(result, definition, expect.rule) {
            Ok(figures) => self.figures = self.figures.or(figures),
            Err(what) => self.failures.push(format!("{} on rank {rank}: {what}", expect.what.name())),
        }
        for (without, wrong) in &expect.mutants {
            self.mutants += 1;
            if of_rank(wrong, rank).is_some_and(|wrong| compare(wrong, definition, expect.rule).is_err()) {
                self.refused += 1;
            } else {
                self.failures.push(format!("{}: a result without {without} is taken for right", expect.what.name()));
            }
        }
    }
}

impl Target {
    fn name(&self) -> String {
        match self {
            Target::Out(port) | Target::State(port) => format!("`{port}`"),
            Target::View(port, _) => format!("a function of `{port}`"),
        }
    }
}

/// The plan of a case.
///
/// # Errors
/// The case does not fit its task.
pub fn plan(check: &Check, case: &Case) -> Result<Plan, Failure> {
    let options =
        Options { workers: WORKERS, rows: ROWS, slots: case.slots, context: case.context, shared_memory: HOPPER_SHARED_MEMORY };
    Ok(Plan::new(graph(check, case)?, options)?)
}

/// The graph of one task behind the tasks that feed it.
fn graph(check: &Check, case: &Case) -> Result<Graph, Failure> {
    let mut builder = Builder::new("check", case.ranks, None, false);
    let mut named = case.named.clone();
    for fed in &case.inputs {
        let (op, numbers) = feed::feed(fed.elem, &fed.parts).ok_or("no task feeds this type in so many parts")?;
        let shard = match fed.place {
            Place::Replicated => Shard::None,
            Place::Sharded => Shard::Column,
            Place::Partial => Shard::Row,
        };
        let call = OpCall { chained: None, named: numbers, shard };
        named.push((fed.port, Input::Value(builder.op(op, call)?)));
    }
    for weight in &case.weights {
        let whole = WeightExpr::Module { name: weight.port.to_string(), suffix: "", shape: weight.shape.clone() };
        named.push((weight.port, Input::Weight(WeightExpr::Rows(Box::new(whole), weight.parts.clone()))));
    }
    // A collective of one rank takes the value that flows in and is gone.
    let first_in = case.inputs.first().map(|fed| fed.port);
    let chained = named.iter().find_map(|(port, input)| match input {
        Input::Value(value) if Some(*port) == first_in => Some(*value),
        _ => None,
    });
    named.retain(|(port, _)| Some(*port) != first_in);
    let call = OpCall { chained, named, shard: Shard::None };
    let outs = builder.stage(check.op, call, &case.symbols)?;
    let out = outs.first().ok_or("the task gives nothing")?;
    Ok(builder.finish(*out))
}

struct Run<'a> {
    check: &'a Check,
    plan: Arc<Plan>,
    machine: Box<dyn Machine>,
}

impl Run<'_> {
    /// Writes the values of an input into the state of the op that feeds it.
    fn feed(&mut self, op: usize, fed: &Fed, values: &[Matrix], ranks: usize) -> Result<(), Failure> {
        let state = self.plan.states.iter().position(|s| s.op == op).ok_or("an input has no state")?;
        for rank in 0..ranks {
            let values = of_rank(values, rank).ok_or("an input has no values")?;
            self.machine.set_state(rank, state, &values.encode(fed.elem))?;
        }
        Ok(())
    }

    fn result(&self, rank: usize, expect: &Expect, rows: usize) -> Result<Matrix, Failure> {
        match &expect.what {
            Target::Out(port) => self.out(rank, port, rows),
            Target::View(port, view) => Ok(view(&self.out(rank, port, rows)?)),
            Target::State(port) => {
                let (at, elem) = self.state(port)?;
                let last = self.plan.states[at].shape.last().copied().unwrap_or(1);
                Ok(Matrix::decode(elem, last, &self.machine.state(rank, at)?))
            }
        }
    }

    fn out(&self, rank: usize, port: &str, rows: usize) -> Result<Matrix, Failure> {
        let tensor = self.tensor(port)?;
        let of = &self.plan.graph.tensors[tensor];
        Ok(Matrix::decode(of.elem, of.features(), &self.machine.tensor(rank, tensor, rows)?))
    }

    /// The tensor at an `Out` of the task; the model's output where the task is gone.
    fn tensor(&self, port: &str) -> Result<TensorId, Failure> {
        let Some(node) = self.plan.graph.ops.last().filter(|node| node.op == self.check.op.name) else {
            return Ok(self.plan.graph.output);
        };
        let at = node.task.signature.ports.iter().position(|p| p.name == port);
        match at.map(|at| &node.args[at]) {
            Some(NodeArg::Out(tensor)) => Ok(*tensor),
            _ => Err(format!("`{port}` is no `Out` of the task").into()),
        }
    }

    /// A state of the task: its index in the plan, and its element type.
    fn state(&self, port: &str) -> Result<(usize, crate::shape::Elem), Failure> {
        let op = self.plan.graph.ops.len() - 1;
        let named = |s: &crate::plan::State| s.op == op && self.plan.graph.ops[op].task.signature.ports[s.port].name == port;
        let at = self.plan.states.iter().position(named).ok_or_else(|| format!("`{port}` is no `State` of the task"))?;
        Ok((at, self.plan.states[at].elem))
    }
}

/// Weights by the names of their tensors.
struct Weights(Vec<(&'static str, Vec<bf16>)>);

impl Tensors for Weights {
    fn bf16(&self, names: &[String]) -> Option<&[bf16]> {
        self.0.iter().find(|(name, _)| names.iter().any(|n| n == name)).map(|(_, data)| data.as_slice())
    }
}
