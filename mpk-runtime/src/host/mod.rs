//! The host executor: runs a plan's tasks through their references, on all cores.
//!
//! The workers are those of the plan; threads only execute them, so that the bits do not depend on the number of threads. Edges
//! are the plan's own counters, as atomics: a task runs when the counters that it waits for have all their arrivals.

mod bind;
mod caught;
mod memory;
mod run;
#[cfg(test)]
mod tests;
mod weights;

use std::sync::Arc;

pub(crate) use caught::caught;
pub use run::{Hang, Stuck};
pub use weights::{Tensors, WeightError, view};

use crate::graph::{NodeArg, TensorId};
use crate::plan::{Plan, PlanError, Tiles};
use crate::reference::In;
use crate::rope::{NoMemory, Rope, RopeTable};
use crate::shape::Place;
use crate::step::StepRows;

/// A step did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A weight can't be read.
    #[error(transparent)]
    Weight(#[from] WeightError),
    /// The plan can't be cut into tiles.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The memory of the plan can't be had.
    #[error(
        "the system does not give {bytes} bytes for a buffer or the cache of the plan\nhelp: ask for a shorter context, or fewer slots"
    )]
    Memory {
        /// Bytes asked for.
        bytes: usize,
    },
    /// The memory of a rope can't be had.
    #[error(transparent)]
    Rope(#[from] NoMemory),
    /// The step's rows are not ones that the plan holds.
    #[error("a step of {rows} rows; the plan holds 1 to {most}\nhelp: split the rows over several steps")]
    Rows {
        /// Rows of the step.
        rows: usize,
        /// Rows of the plan.
        most: usize,
    },
    /// The step can't go on.
    #[error(transparent)]
    Hang(#[from] Hang),
    /// A reference failed: an error in the task.
    #[error(
        "{task} failed on rank {rank}, worker {worker}: {message}\nhelp: mend the reference of the task; `verify --tasks` runs each alone"
    )]
    Task {
        /// The task's label.
        task: String,
        /// Its rank.
        rank: usize,
        /// Its worker.
        worker: usize,
        /// What it said.
        message: String,
    },
}

/// Runs steps of one plan.
pub struct Executor {
    plan: Arc<Plan>,
    tensors: Arc<dyn Tensors + Send>,
    memory: memory::Memory,
    geometry: Vec<Tiles>,
    ropes: Vec<Option<Arc<RopeTable>>>,
    counters: run::Counters,
    threads: usize,
    poison: bool,
    epoch: usize,
}

impl Executor {
    /// An executor of `plan` over the weights of `tensors`, on `threads` threads.
    ///
    /// # Errors
    /// A weight of the plan can't be read from `tensors`, or the memory of the plan can't be had.
    pub fn new(plan: Arc<Plan>, tensors: Arc<dyn Tensors + Send>, threads: usize) -> Result<Executor, HostError> {
        for rank in 0..plan.ranks {
            for weight in &plan.graph.weights {
                view(weight, rank, &*tensors)?;
            }
        }
        let geometry: Result<Vec<_>, _> =
            (0..plan.graph.ops.len()).map(|op| Tiles::of(&plan.graph, op, &plan.options, plan.pages)).collect();
        // The layers of a model mostly share one rope: its table is made once.
        let mut tables: Vec<(&Rope, Arc<RopeTable>)> = Vec::new();
        let mut ropes = Vec::with_capacity(plan.graph.ops.len());
        for node in &plan.graph.ops {
            let rope = node.args.iter().find_map(|arg| if let NodeArg::Rope(rope) = arg { Some(rope) } else { None });
            let Some(rope) = rope else {
                ropes.push(None);
                continue;
            };
            let table = match tables.iter().find(|(of, _)| *of == rope) {
                Some((_, table)) => table.clone(),
                None => {
                    let table = Arc::new(rope.table(plan.options.context)?);
                    tables.push((rope, table.clone()));
                    table
                }
            };
            ropes.push(Some(table));
        }
        let memory = memory::Memory::new(&plan)?;
        Ok(Executor {
            memory,
            geometry: geometry?,
            ropes,
            counters: run::Counters::new(&plan),
            threads: threads.max(1),
            poison: false,
            epoch: 0,
            plan,
            tensors,
        })
    }

    /// The plan it runs.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Fills all outputs with NaN before each step, so that an element that no task writes is found (MPK-R0403).
    pub fn set_poison(&mut self, poison: bool) {
        self.poison = poison;
    }

    /// Runs one step.
    ///
    /// # Errors
    /// See [`HostError`]. After an error the executor's memory is not that of a whole step: make a new one.
    pub fn step(&mut self, rows: &StepRows) -> Result<(), HostError> {
        let most = self.plan.options.rows;
        if rows.is_empty() || rows.len() > most {
            return Err(HostError::Rows { rows: rows.len(), most });
        }
        if self.poison {
            self.memory.poison(&self.plan);
        }
        self.epoch += 1;
        run::step(self, rows)
    }

    /// Row `t` of a tensor after the last step: all its features, gathered from the ranks.
    pub fn row(&self, tensor: TensorId, t: usize) -> Vec<f32> {
        let of = &self.plan.graph.tensors[tensor];
        let ranks = if of.place == Place::Sharded { self.plan.ranks } else { 1 };
        let rows: Vec<Vec<f32>> = (0..ranks).map(|rank| self.input(rank, tensor, t + 1).row(t).into_owned()).collect();
        let mut all = Vec::with_capacity(of.features() * ranks);
        let mut first = 0;
        for part in &of.parts {
            for row in &rows {
                all.extend_from_slice(&row[first..first + part]);
            }
            first += part;
        }
        all
    }

    /// Word `t` of a tensor of one feature, after the last step.
    pub fn word(&self, tensor: TensorId, t: usize) -> u64 {
        self.input(0, tensor, t + 1).word(t, 0)
    }

    /// The bytes of the first `rows` rows of a tensor as `rank` wrote them in the last step.
    pub fn bytes(&self, rank: usize, tensor: TensorId, rows: usize) -> Vec<u8> {
        let input = self.input(rank, tensor, rows);
        input.areas[input.source].bytes(input.rows * input.features * input.elem.size()).to_vec()
    }

    /// The bytes of a state of `rank`, by its index in [`Plan::states`].
    pub fn state(&self, rank: usize, state: usize) -> Vec<u8> {
        let of = &self.plan.states[state];
        let bytes = of.bytes();
        match of.held {
            Some(tensor) => self.memory.buffer(&self.plan, rank, self.plan.tensors[tensor], self.epoch)[0].bytes(bytes).to_vec(),
            None => self.memory.state(rank, state).bytes(bytes).to_vec(),
        }
    }

    /// Writes a state of its own of `rank` from its beginning; bytes beyond its end are left out.
    pub fn set_state(&mut self, rank: usize, state: usize, bytes: &[u8]) {
        self.memory.set_state(rank, state, bytes);
    }

    /// The tensor as `rank` wrote it.
    fn input(&self, rank: usize, tensor: TensorId, rows: usize) -> In<'_> {
        let of = &self.plan.graph.tensors[tensor];
        let areas = self.memory.buffer(&self.plan, rank, self.plan.tensors[tensor], self.epoch);
        In {
            source: if areas.len() > 1 { rank } else { 0 },
            areas: areas.into(),
            elem: of.elem,
            rows: rows * of.rows,
            features: of.features(),
            first: if of.place == Place::Sharded { rank * of.features() } else { 0 },
        }
    }
}
