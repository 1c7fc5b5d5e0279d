//! One step: threads that execute the workers' queues over the plan's counters.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::bind::bind;
use super::caught::caught;
use super::{Executor, HostError, view};
use crate::graph::OpId;
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

/// No task runs, and no worker can go on (MPK-R0401).
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
        write!(f, "\nhelp: the plan is not one that `verify` proves: make it anew from its graph")
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

/// What a wait is for.
enum Site {
    /// The instances of the grid-wide task itself.
    Barrier,
    /// The counter of an op.
    Op(OpId),
}

/// A thread runs a task; else the thread holds the count of tasks that had ended when it last found nothing to run.
const RUNS: usize = usize::MAX;
/// A thread has no tasks left.
const DONE: usize = usize::MAX - 1;

struct Step<'a> {
    executor: &'a Executor,
    weights: &'a [Weight<'a>],
    rows: &'a StepRows,
    stop: AtomicBool,
    /// Grows with every task, or phase of one, that has ended and triggered.
    ended: AtomicUsize,
    /// By thread: [`RUNS`], [`DONE`], or the value of `ended` before it looked for a task and found none.
    idle: Vec<AtomicUsize>,
    failed: Mutex<Option<HostError>>,
    stuck: Mutex<Vec<Stuck>>,
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
    let threads = executor.threads.min(plan.queues.len()).max(1);
    let step = Step {
        executor,
        weights: &weights,
        rows,
        stop: AtomicBool::new(false),
        ended: AtomicUsize::new(0),
        idle: (0..threads).map(|_| AtomicUsize::new(RUNS)).collect(),
        failed: Mutex::new(None),
        stuck: Mutex::new(Vec::new()),
    };
    std::thread::scope(|scope| {
        for thread in 1..threads {
            let step = &step;
            scope.spawn(move || step.run(thread, threads));
        }
        step.run(0, threads);
    });
    // A task that failed explains the waits that it left open.
    if let Some(error) = lock(&step.failed).take() {
        return Err(error);
    }
    let mut stuck = std::mem::take(&mut *lock(&step.stuck));
    stuck.sort_by_key(|s| (s.rank, s.worker));
    if stuck.is_empty() { Ok(()) } else { Err(Hang { stuck }.into()) }
}

impl Step<'_> {
    /// Executes every `threads`-th queue until all are at their end.
    fn run(&self, thread: usize, threads: usize) {
        let plan = &*self.executor.plan;
        let mut queues: Vec<(usize, Cursor)> =
            (thread..plan.queues.len()).step_by(threads).map(|q| (q, Cursor::default())).collect();
        let idle = &self.idle[thread];
        while !self.stop.load(Ordering::Relaxed) {
            let ended = self.ended.load(Ordering::SeqCst);
            let mut ran = false;
            queues.retain_mut(|(queue, cursor)| {
                while let Some(share) = plan.queues[*queue].tasks.get(cursor.task) {
                    if self.stop.load(Ordering::Relaxed) || self.is_open(*queue, share, cursor.phase) {
                        return true;
                    }
                    idle.store(RUNS, Ordering::SeqCst);
                    ran = true;
                    if !self.advance(*queue, share, cursor) {
                        return true;
                    }
                }
                false
            });
            if queues.is_empty() {
                return idle.store(DONE, Ordering::SeqCst);
            }
            if !ran {
                idle.store(ended, Ordering::SeqCst);
                if self.hangs() {
                    self.stop.store(true, Ordering::Relaxed);
                }
                std::thread::yield_now();
            }
        }
        lock(&self.stuck).extend(self.stuck(&queues));
    }

    /// Whether no thread runs a task and none can: each looked at its queues after the last task had ended, and found nothing.
    fn hangs(&self) -> bool {
        // A thread that holds this count now was idle when it was read: had it run a task then, the end of that would count. So
        // the count was final, and nothing is left to change what all of them saw. No clock: a task may take as long as it likes.
        let ended = self.ended.load(Ordering::SeqCst);
        self.idle.iter().all(|idle| [ended, DONE].contains(&idle.load(Ordering::SeqCst)))
    }

    /// Runs the next task of a queue, or one phase of it; whether it came to its end.
    fn advance(&self, queue: usize, share: &Share, cursor: &mut Cursor) -> bool {
        let executor = self.executor;
        let (rank, worker) = executor.plan.place_of(queue);
        let task = executor.plan.graph.ops[share.op].task;
        // What runs once still triggers in every step, so that counts are the same in all of them.
        let runs = !task.once || executor.epoch == 1;
        let run = || {
            let bound = bind(executor, self.weights, self.rows, rank, worker, share);
            (task.reference)(&mut Call { ports: &bound.ports, dims: &bound.dims, tiles: bound.tiles, phase: cursor.phase });
        };
        if let Err(message) = caught(|| runs.then(run)) {
            let task = executor.plan.ops[share.op].label.clone();
            lock(&self.failed).get_or_insert(HostError::Task { task, rank, worker, message });
            self.stop.store(true, Ordering::Relaxed);
            return false;
        }
        cursor.phase += 1;
        if cursor.phase < task.phases {
            // Release and acquire as for the counters: the barrier orders each phase after the one before on all workers.
            executor.counters.barriers[rank * executor.counters.ops + share.op].fetch_add(1, Ordering::AcqRel);
        } else {
            for trigger in &share.triggers {
                executor.counters.arrive(trigger.rank, trigger.counter);
            }
            *cursor = Cursor { task: cursor.task + 1, phase: 0 };
        }
        self.ended.fetch_add(1, Ordering::SeqCst);
        true
    }

    /// Whether a wait of a share is not complete.
    fn is_open(&self, queue: usize, share: &Share, phase: usize) -> bool {
        let (rank, _) = self.executor.plan.place_of(queue);
        self.waits(rank, share, phase).any(|(_, wanted, seen)| seen < wanted)
    }

    /// The waits of a share in front of a phase: what for, wanted and seen.
    fn waits<'a>(&'a self, rank: usize, share: &'a Share, phase: usize) -> impl Iterator<Item = (Site, usize, usize)> + 'a {
        let executor = self.executor;
        let plan = &*executor.plan;
        let barrier = (phase > 0).then(|| {
            let phases = plan.graph.ops[share.op].task.phases;
            let wanted = ((executor.epoch - 1) * (phases - 1) + phase) * plan.options.workers;
            let seen = executor.counters.barriers[rank * executor.counters.ops + share.op].load(Ordering::Acquire);
            (Site::Barrier, wanted, seen)
        });
        // The boundary of the step before is complete: `step` returned only after all queues were at their end.
        let ops = if phase > 0 { &[] } else { &share.waits[..] };
        let ops = ops.iter().map(move |op| {
            let wanted = executor.epoch * plan.counters[*op].arrivals;
            (Site::Op(*op), wanted, executor.counters.seen(rank, *op))
        });
        barrier.into_iter().chain(ops)
    }

    /// The open waits of queues, by name.
    fn stuck(&self, queues: &[(usize, Cursor)]) -> Vec<Stuck> {
        let plan = &*self.executor.plan;
        let mut stuck = Vec::new();
        for (queue, cursor) in queues {
            let Some(share) = plan.queues[*queue].tasks.get(cursor.task) else { continue };
            let (rank, worker) = plan.place_of(*queue);
            for (site, wanted, seen) in self.waits(rank, share, cursor.phase).filter(|(_, wanted, seen)| seen < wanted) {
                let site = match site {
                    Site::Barrier => "its grid barrier".to_string(),
                    Site::Op(op) => plan.ops[op].label.clone(),
                };
                stuck.push(Stuck { task: plan.ops[share.op].label.clone(), rank, worker, site, wanted, seen });
            }
        }
        stuck
    }
}

/// A panic while it was held has left nothing half-written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
