//! Runs one case: its graph, its plan and the proof of it, its steps, and the comparisons.

use std::sync::Arc;

use half::bf16;

use super::case::{Case, Expect, Fed, Step, Target, of_rank};
use super::feed::feed;
use super::machine::{Machine, Start};
use super::{Check, Failure, Figures, Matrix, compare, names};
use crate::engine::HOPPER_SHARED_MEMORY;
use crate::graph::{Builder, Graph, Input, NodeArg, OpCall, TensorId, WeightExpr};
use crate::host::Tensors;
use crate::plan::{Options, PageSource, Plan};
use crate::shape::Shard;
use crate::verify::verify;

/// Workers of a plan: an odd number, so that runs of tiles are of unequal length.
pub const WORKERS: usize = 5;
/// Rows of a plan: a step may have fewer.
const PLAN_ROWS: usize = 16;

/// A byte of an output before a step: all of them make a NaN that no arithmetic gives, and a word that no task means.
const POISON: u8 = 0xff;

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
    names::check(&check.op, case)?;
    let plan = plan(check, case)?;
    verify(&plan).map_err(crate::engine::Error::Unproven)?;
    let plan = Arc::new(plan);
    let mut run = Run::begin(check, case, &plan, start)?;
    let mut outcome = Outcome { figures: Figures::EXACT, refused: 0, mutants: 0, failures: Vec::new() };
    for step in &case.steps {
        run.step(case, step)?;
        for expect in &step.expects {
            for rank in 0..case.ranks {
                let result = run.result(rank, expect, step.rows.len())?;
                let unwritten = run.unwritten(rank, expect, step.rows.len())?;
                outcome.judge(expect, rank, &result, unwritten);
            }
        }
    }
    let step = &case.steps[0];
    if let Some(plan) = without_last_tile(check, &plan, step.rows.len()) {
        let mut run = Run::begin(check, case, &Arc::new(plan), start)?;
        run.step(case, step)?;
        let mut seen = false;
        for expect in &step.expects {
            let result = run.result(0, expect, step.rows.len())?;
            let definition = of_rank(&expect.definition, 0);
            seen |= definition.is_some_and(|definition| compare(&result, definition, expect.rule).is_err());
        }
        outcome.mutants += 1;
        outcome.refused += usize::from(seen);
        if !seen {
            outcome.failures.push("a run without the last tile is taken for right".to_string());
        }
    }
    Ok(outcome)
}

/// The plan with the last tile of the task that has some of the `live` rows left out on every rank, where the worker that has it
/// has others too; none for a task that its tiles do not cut.
fn without_last_tile(check: &Check, plan: &Plan, live: usize) -> Option<Plan> {
    let op = plan.graph.ops.len() - 1;
    let node = &plan.graph.ops[op];
    if node.op != check.op.name || node.task.grid {
        return None;
    }
    let tiles = plan.tiles(op).ok()?;
    let (port, rows) = node.args.iter().enumerate().find_map(|(port, arg)| match arg {
        NodeArg::Out(tensor) => Some((port, live * plan.graph.tensors[*tensor].rows)),
        _ => None,
    })?;
    let last = (0..plan.ops[op].tiles).rev().find(|tile| tiles.rows(port, *tile..tile + 1).start < rows)?;
    let mut spoiled = plan.clone();
    for queue in &mut spoiled.queues {
        for (i, share) in queue.tasks.iter_mut().enumerate().filter(|(_, share)| share.op == op) {
            if !(share.first..share.first + share.tiles).contains(&last) {
                continue;
            }
            share.tiles = Some(last - share.first).filter(|left| *left > 0)?;
            let run = share.first..last;
            for segment in queue.stream.iter_mut().filter(|segment| segment.task == i) {
                let PageSource::Static { strips, .. } = &mut segment.source;
                let left = tiles.strips(segment.port, run.clone()).len();
                segment.pages = segment.pages / *strips * left;
                *strips = left;
            }
        }
    }
    Some(spoiled)
}

impl Outcome {
    fn judge(&mut self, expect: &Expect, rank: usize, result: &Matrix, unwritten: Option<String>) {
        let Some(definition) = of_rank(&expect.definition, rank) else { return };
        match compare(result, definition, expect.rule) {
            Ok(figures) => self.figures = self.figures.or(figures),
            Err(what) => {
                let what = unwritten.unwrap_or(what);
                self.failures.push(format!("{} on rank {rank}: {what}", expect.what.name()));
            }
        }
        // What was really computed must be told apart from a result that lacks something.
        for (without, wrong) in &expect.mutants {
            self.mutants += 1;
            if of_rank(wrong, rank).is_some_and(|wrong| compare(wrong, result, expect.rule).is_err()) {
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
            Target::View(port, _) => format!("a function of `{port}`"),
            Target::Out(port) | Target::State(port) => format!("`{port}`"),
        }
    }
}

/// The plan of a case.
///
/// # Errors
/// The case does not fit its task.
pub fn plan(check: &Check, case: &Case) -> Result<Plan, Failure> {
    let options = Options {
        workers: WORKERS,
        rows: PLAN_ROWS,
        slots: case.slots,
        context: case.context,
        shared_memory: HOPPER_SHARED_MEMORY,
    };
    Ok(Plan::new(graph(check, case)?, options)?)
}

/// The graph of one task behind the tasks that feed it.
fn graph(check: &Check, case: &Case) -> Result<Graph, Failure> {
    let mut builder = Builder::new("check", case.ranks, None, false);
    let mut named = case.named.clone();
    for fed in &case.inputs {
        let op = feed(fed.elem).ok_or("no task feeds this type")?;
        let numbers = vec![("N", Input::from(fed.parts.iter().sum::<usize>()))];
        let value = builder.op(op, OpCall { chained: None, named: numbers, shard: Shard::None })?;
        // Each rank's state is its own, so the value may be whatever the task takes.
        builder.cast(value, fed.place, &fed.parts);
        named.push((fed.port, Input::Value(value)));
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

impl<'a> Run<'a> {
    /// A plan of the case, over its weights and states.
    fn begin(check: &'a Check, case: &Case, plan: &Arc<Plan>, start: Start) -> Result<Run<'a>, Failure> {
        let weights = case.weights.iter().map(|weight| (weight.port, weight.data.clone())).collect();
        let machine = (start.begin)(plan.clone(), Arc::new(Weights(weights)))?;
        let mut run = Run { check, plan: plan.clone(), machine };
        for (port, before) in &case.states {
            let (at, elem) = run.state(port)?;
            for rank in 0..case.ranks {
                run.machine.set_state(rank, at, &before.encode(elem))?;
            }
        }
        Ok(run)
    }

    /// Runs a step of the case.
    fn step(&mut self, case: &Case, step: &Step) -> Result<(), Failure> {
        for (op, (fed, (_, values))) in case.inputs.iter().zip(&step.inputs).enumerate() {
            self.feed(op, fed, values, case.ranks)?;
        }
        self.machine.step(&step.rows)
    }

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

    /// Elements of an `Out` that still hold what it was filled with before the step; none of a state, which is not filled.
    fn unwritten(&self, rank: usize, expect: &Expect, rows: usize) -> Result<Option<String>, Failure> {
        if let Target::State(_) = expect.what {
            return Ok(None);
        }
        let tensor = self.tensor(expect.what.port())?;
        let of = &self.plan.graph.tensors[tensor];
        let bytes = self.machine.tensor(rank, tensor, rows)?;
        let filled: Vec<bool> = bytes.chunks_exact(of.elem.size()).map(|elem| elem.iter().all(|byte| *byte == POISON)).collect();
        let count = filled.iter().filter(|filled| **filled).count();
        let first = filled.iter().position(|filled| *filled);
        Ok(first.map(|at| {
            let (row, column) = (at / of.features(), at % of.features());
            let of = filled.len();
            format!("{count} of {of} elements were never written, the first in row {row}, column {column}")
        }))
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
