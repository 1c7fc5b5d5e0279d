//! Runs all queues to the end of three steps, with a vector clock on each worker (MPK-P0202).
//!
//! Component `q` of a clock is the number of tasks of queue `q`, over all steps, that are complete before. A wait for the
//! counter of an op joins the clocks of all who arrive there, once. What happened in which order in this run does not matter:
//! [`super::hazards`] asks the clocks alone, and they are the same for every order in which the queues could run.

use super::boundary;
use super::counters::Arrivals;
use super::hazards::{At, Hazards};
use super::violation::{Code, Found};
use super::{View, worker};
use crate::graph::OpId;

/// Steps that are run: see the module above.
pub(super) const STEPS: usize = 3;

/// Counts of tasks complete, by queue.
pub(super) type Clock = Vec<u32>;

/// The larger of each component.
pub(super) fn join(clock: &mut [u32], other: &[u32]) {
    for (a, b) in clock.iter_mut().zip(other) {
        *a = (*a).max(*b);
    }
}

/// A place where clocks meet: the counter of an op on a rank, in one step.
#[derive(Clone, Default)]
struct Meeting {
    arrived: usize,
    /// Queues that will still join the clock: it is dropped after the last of them.
    joins: usize,
    clock: Clock,
    waiting: Vec<usize>,
}

/// Where a queue stands.
#[derive(Clone, Default)]
struct Cursor {
    step: usize,
    task: usize,
    clock: Clock,
    /// Waits of the task that are done; in front of the first task, those for the boundary of the step before.
    waits: usize,
    /// Whether the step has begun, and whether the task's instances of a grid-wide task have met.
    begun: bool,
    met: bool,
}

struct Run<'a> {
    view: &'a View<'a>,
    arrivals: &'a Arrivals,
    /// Grid-wide ops whose instances meet.
    meets: &'a [bool],
    /// Counters at `(step * ops + op) * ranks + rank`.
    counters: Vec<Meeting>,
    /// The barriers of grid-wide tasks, in the same places.
    barriers: Vec<Meeting>,
    cursors: Vec<Cursor>,
}

/// Runs the queues and checks every access on the way.
pub(super) fn run(view: &View, arrivals: &Arrivals, meets: &[bool], found: &mut Found) {
    let plan = view.plan;
    let (queues, places) = (plan.queues.len(), STEPS * plan.ops.len() * plan.ranks);
    let cursor = Cursor { clock: vec![0; queues], ..Cursor::default() };
    let barriers = if meets.contains(&true) { places } else { 0 };
    let mut run = Run {
        view,
        arrivals,
        meets,
        counters: counters(view),
        barriers: vec![Meeting::default(); barriers],
        cursors: vec![cursor; queues],
    };
    let mut hazards = Hazards::new(view);
    let mut ready: Vec<usize> = (0..queues).rev().collect();
    while let Some(q) = ready.pop() {
        while run.advance(q, &mut ready, &mut hazards, found) {}
    }
    run.report_deadlock(found);
}

/// All counters, before anything ran.
fn counters(view: &View) -> Vec<Meeting> {
    let plan = view.plan;
    let mut joins = vec![0; plan.ops.len() * plan.ranks];
    for (q, queue) in plan.queues.iter().enumerate() {
        let (rank, _) = plan.place_of(q);
        queue.tasks.iter().flat_map(|share| &share.waits).for_each(|op| joins[op * plan.ranks + rank] += 1);
    }
    let mut all = vec![Meeting::default(); STEPS * joins.len()];
    for (place, counter) in all.iter_mut().enumerate() {
        let (step, place) = (place / joins.len(), place % joins.len());
        let ends = plan.boundary.iter().filter(|op| **op == place / plan.ranks && step + 1 < STEPS).count();
        counter.joins = joins[place] + ends * view.workers();
    }
    all
}

impl Run<'_> {
    fn place(&self, step: usize, op: OpId, rank: usize) -> usize {
        (step * self.view.plan.ops.len() + op) * self.view.plan.ranks + rank
    }

    /// The counter that a queue stands in front of: `(step, op)`.
    fn waits_for(&self, q: usize) -> Option<(usize, OpId)> {
        let cursor = &self.cursors[q];
        if !cursor.begun {
            let op = (cursor.step > 0 && cursor.step <= STEPS).then(|| self.view.plan.boundary.get(cursor.waits)).flatten();
            return op.map(|op| (cursor.step - 1, *op));
        }
        let share = self.view.plan.queues[q].tasks.get(cursor.task)?;
        share.waits.get(cursor.waits).map(|op| (cursor.step, *op))
    }

    /// Takes queue `q` one wait or one task further; `false` if it can't go on now.
    fn advance(&mut self, q: usize, ready: &mut Vec<usize>, hazards: &mut Hazards, found: &mut Found) -> bool {
        let plan = self.view.plan;
        if self.cursors[q].step == STEPS {
            return false;
        }
        let (rank, _) = plan.place_of(q);
        if let Some((step, op)) = self.waits_for(q) {
            let place = self.place(step, op, rank);
            if self.counters[place].arrived < self.arrivals.counts[op * plan.ranks + rank] {
                self.counters[place].waiting.push(q);
                return false;
            }
            let counter = &mut self.counters[place];
            join(&mut self.cursors[q].clock, &counter.clock);
            counter.joins = counter.joins.saturating_sub(1);
            if counter.joins == 0 {
                counter.clock = Clock::new();
            }
            self.cursors[q].waits += 1;
            return true;
        }
        let step = self.cursors[q].step;
        if !self.cursors[q].begun {
            if step > 0 {
                boundary::check(self.view, step, q, &self.cursors[q].clock, hazards, found);
            }
            self.cursors[q].begun = true;
            self.cursors[q].waits = 0;
            return true;
        }
        let Some(share) = plan.queues[q].tasks.get(self.cursors[q].task) else {
            let cursor = &mut self.cursors[q];
            (cursor.step, cursor.task, cursor.waits, cursor.begun) = (step + 1, 0, 0, false);
            return true;
        };
        if self.meets[share.op] && !self.cursors[q].met {
            return self.meet(q, step, share.op, ready, hazards, found);
        }
        if !self.meets[share.op] {
            hazards.task(self.view, &At { step, q, rank, op: share.op, clock: &self.cursors[q].clock }, found);
        }
        let cursor = &mut self.cursors[q];
        (cursor.task, cursor.waits, cursor.met) = (cursor.task + 1, 0, false);
        cursor.clock[q] += 1;
        for trigger in self.arrivals.of(self.view, share, rank).iter() {
            let place = self.place(step, trigger.counter, trigger.rank);
            let counter = &mut self.counters[place];
            counter.arrived += 1;
            if counter.clock.is_empty() && counter.joins > 0 {
                counter.clock.clone_from(&self.cursors[q].clock);
            } else {
                join(&mut counter.clock, &self.cursors[q].clock);
            }
            if counter.arrived == self.arrivals.counts[trigger.counter * plan.ranks + trigger.rank] {
                ready.append(&mut counter.waiting);
            }
        }
        true
    }

    /// Brings one instance of a grid-wide task to its barrier. Reads and writes may come before it, so they are checked here.
    fn meet(
        &mut self,
        q: usize,
        step: usize,
        op: OpId,
        ready: &mut Vec<usize>,
        hazards: &mut Hazards,
        found: &mut Found,
    ) -> bool {
        let (rank, _) = self.view.plan.place_of(q);
        hazards.task(self.view, &At { step, q, rank, op, clock: &self.cursors[q].clock }, found);
        let place = self.place(step, op, rank);
        let barrier = &mut self.barriers[place];
        barrier.arrived += 1;
        barrier.waiting.push(q);
        if barrier.clock.is_empty() {
            barrier.clock.clone_from(&self.cursors[q].clock);
        } else {
            join(&mut barrier.clock, &self.cursors[q].clock);
        }
        if barrier.arrived < self.view.workers() {
            return false;
        }
        let met = std::mem::take(&mut self.barriers[place]);
        for waiting in met.waiting {
            self.cursors[waiting].met = true;
            join(&mut self.cursors[waiting].clock, &met.clock);
            if waiting != q {
                ready.push(waiting);
            }
        }
        true
    }

    /// Reports who stands where, once for each pair of ops, if not all queues are through.
    fn report_deadlock(&self, found: &mut Found) {
        let plan = self.view.plan;
        let mut seen = Vec::new();
        for (q, cursor) in self.cursors.iter().enumerate().filter(|(_, cursor)| cursor.step < STEPS) {
            let here = plan.queues[q].tasks.get(cursor.task).filter(|_| cursor.begun).map(|share| share.op);
            let wants = self.waits_for(q);
            if seen.contains(&(here, wants)) {
                continue;
            }
            seen.push((here, wants));
            let (rank, _) = plan.place_of(q);
            let at = here.map_or("the beginning of a step", |op| self.view.label(op));
            let what = match wants {
                Some((step, op)) => format!(
                    "waits for {}, where {} of {} have arrived",
                    self.view.label(op),
                    self.counters[self.place(step, op, rank)].arrived,
                    self.arrivals.counts[op * plan.ranks + rank]
                ),
                None => "waits for the other instances of its grid-wide task".to_string(),
            };
            let text = format!(
                "{} at {at} in step {} {what}: nobody can go on\non the GPU every worker would wait for ever\nhelp: put each task after those it waits for, in every queue",
                worker(plan, q),
                cursor.step
            );
            found.add(Code::P0202, here, Some(q), text);
        }
    }
}
