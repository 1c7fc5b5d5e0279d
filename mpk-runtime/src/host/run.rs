//! One step: threads that execute the workers' queues over the plan's counters.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::bind::bind;
use super::{Executor, HostError, view};
use crate::plan::{Plan, Share};
use crate::reference::{Call, Weight};
use crate::step::StepRows;

/// The counters of all ranks. They only grow: a wait in epoch `e` is for `e` times the arrivals of a step.
pub struct Counters {
    /// `[rank * ops + op]`
    arrivals: Vec<AtomicUsize>,
    /// Arrivals at the barrier of a grid-wide task, likewise.
    barriers: Vec<AtomicUsize>,
    ops: usize,
}

impl Counters {
    /// All at zero.
    pub fn new(plan: &Plan) -> Counters {
        let ops = plan.graph.ops.len();
        let zeros = || (0..plan.ranks * ops).map(|_| AtomicUsize::new(0)).collect();
        Counters { arrivals: zeros(), barriers: zeros(), ops }
    }

    fn seen(&self, rank: usize, op: usize) -> usize {
        // Acquire: what the arrivals released, the writes of their tasks, is visible to the task that waits.
        self.arrivals[rank * self.ops + op].load(Ordering::Acquire)
    }

    fn arrive(&self, rank: usize, op: usize) {
        // Release: the writes of this task come before its arrival.
        self.arrivals[rank * self.ops + op].fetch_add(1, Ordering::AcqRel);
    }
}

/// A wait did not end within the limit (MPK-R0401).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hang {
    /// The waits that were open, by name.
    pub stuck: Vec<Stuck>,
}

/// One open wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The waiting task.
    pub task: String,
    /// Its rank.
    pub rank: usize,
    /// Its worker.
    pub worker: usize,
    /// What it waits for.
    pub site: String,
    /// Arrivals wanted.
    pub wanted: usize,
    /// Arrivals seen.
    pub seen: usize,
}

impl fmt::Display for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MPK-R0401: the step hangs; open waits:")?;
        for s in &self.stuck {
            write!(
                f,
                "\n  {} on rank {}, worker {}, consumer: waits for {}, wanted {}, seen {}",
                s.task, s.rank, s.worker, s.site, s.wanted, s.seen
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for Hang {}

/// How far a worker is.
#[derive(Default)]
struct Cursor {
    task: usize,
    /// The phase of a grid-wide task.
    phase: usize,
}

struct Step<'a> {
    executor: &'a Executor,
    weights: &'a [Weight<'a>],
    rows: &'a StepRows,
    stop: AtomicBool,
    /// Grows with every task that ends, so that a thread without work can tell a hang from a long task elsewhere.
    progress: AtomicU64,
    errors: Mutex<Vec<HostError>>,
}

/// Runs the step that `executor.epoch` counts.
pub fn step(executor: &Executor, rows: &StepRows) -> Result<(), HostError> {
    let plan = &*executor.plan;
    let mut weights = Vec::new();
    for rank in 0..plan.ranks {
        for weight in &plan.graph.weights {
            weights.push(view(weight, rank, &*executor.tensors)?);
        }
    }
    let step = Step {
        executor,
        weights: &weights,
        rows,
        stop: AtomicBool::new(false),
        progress: AtomicU64::new(0),
        errors: Mutex::new(Vec::new()),
    };
    let threads = executor.threads.min(plan.queues.len()).max(1);
    std::thread::scope(|scope| {
        for thread in 1..threads {
            let step = &step;
            scope.spawn(move || step.run(thread, threads));
        }
        step.run(0, threads);
    });
    let mut errors = step.errors.into_inner().unwrap_or_else(PoisonError::into_inner);
    // A task that failed explains the waits that it left open.
    errors.sort_by_key(|e| matches!(e, HostError::Hang(_)));
    match errors.into_iter().next() {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

impl Step<'_> {
    /// Executes every `threads`-th queue until all are at their end.
    fn run(&self, thread: usize, threads: usize) {
        let plan = &*self.executor.plan;
        let mut queues: Vec<(usize, Cursor)> =
            (thread..plan.queues.len()).step_by(threads).map(|q| (q, Cursor::default())).collect();
        let mut idle: Option<(Instant, u64)> = None;
        while !queues.is_empty() && !self.stop.load(Ordering::Relaxed) {
            let mut ran = false;
            queues.retain_mut(|(queue, cursor)| {
                while let Some(share) = plan.queues[*queue].tasks.get(cursor.task) {
                    if self.stop.load(Ordering::Relaxed) || !self.advance(*queue, share, cursor) {
                        return true;
                    }
                    ran = true;
                }
                false
            });
            if ran {
                idle = None;
                continue;
            }
            let progress = self.progress.load(Ordering::Relaxed);
            match idle {
                Some((since, then)) if then == progress => {
                    if since.elapsed() > self.executor.limit {
                        self.fail(HostError::Hang(Hang { stuck: self.stuck(&queues) }));
                    }
                }
                _ => idle = Some((Instant::now(), progress)),
            }
            std::thread::yield_now();
        }
    }

    /// Runs the next task of a queue, or one phase of it; whether it could.
    fn advance(&self, queue: usize, share: &Share, cursor: &mut Cursor) -> bool {
        let executor = self.executor;
        let (rank, worker) = executor.plan.place_of(queue);
        if !self.open_waits(rank, share, cursor.phase).is_empty() {
            return false;
        }
        let task = executor.plan.graph.ops[share.op].task;
        // What runs once still triggers in every step, so that counts are the same in all of them.
        let runs = !task.once || executor.epoch == 1;
        let run = || {
            let bound = bind(executor, self.weights, self.rows, rank, worker, share);
            (task.reference)(&mut Call { ports: &bound.ports, dims: &bound.dims, tiles: bound.tiles, phase: cursor.phase });
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| runs.then(run))) {
            let message = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
            self.fail(HostError::Task {
                task: executor.plan.ops[share.op].label.clone(),
                rank,
                worker,
                message: message.unwrap_or_else(|| "panicked".into()),
            });
            return false;
        }
        self.progress.fetch_add(1, Ordering::Relaxed);
        cursor.phase += 1;
        if cursor.phase < task.phases {
            // Release and acquire as for the counters: the barrier orders each phase after the one before on all workers.
            executor.counters.barriers[rank * executor.counters.ops + share.op].fetch_add(1, Ordering::AcqRel);
            return true;
        }
        for trigger in &share.triggers {
            executor.counters.arrive(trigger.rank, trigger.counter);
        }
        *cursor = Cursor { task: cursor.task + 1, phase: 0 };
        true
    }

    /// The waits of a share that are not complete: what, wanted and seen.
    fn open_waits(&self, rank: usize, share: &Share, phase: usize) -> Vec<(String, usize, usize)> {
        let executor = self.executor;
        let plan = &*executor.plan;
        if phase > 0 {
            let phases = plan.graph.ops[share.op].task.phases;
            let wanted = ((executor.epoch - 1) * (phases - 1) + phase) * plan.options.workers;
            let seen = executor.counters.barriers[rank * executor.counters.ops + share.op].load(Ordering::Acquire);
            let open = seen < wanted;
            return open.then(|| ("its grid barrier".to_string(), wanted, seen)).into_iter().collect();
        }
        // The boundary of the step before is complete: `step` returned only after all queues were at their end.
        let open = share.waits.iter().filter_map(|op| {
            let wanted = executor.epoch * plan.counters[*op].arrivals;
            let seen = executor.counters.seen(rank, *op);
            (seen < wanted).then(|| (plan.ops[*op].label.clone(), wanted, seen))
        });
        open.collect()
    }

    fn stuck(&self, queues: &[(usize, Cursor)]) -> Vec<Stuck> {
        let plan = &*self.executor.plan;
        let mut stuck = Vec::new();
        for (queue, cursor) in queues {
            let Some(share) = plan.queues[*queue].tasks.get(cursor.task) else { continue };
            let (rank, worker) = plan.place_of(*queue);
            for (site, wanted, seen) in self.open_waits(rank, share, cursor.phase) {
                stuck.push(Stuck { task: plan.ops[share.op].label.clone(), rank, worker, site, wanted, seen });
            }
        }
        stuck
    }

    fn fail(&self, error: HostError) {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).push(error);
        self.stop.store(true, Ordering::Relaxed);
    }
}
