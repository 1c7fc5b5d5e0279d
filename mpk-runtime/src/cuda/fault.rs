//! What a kernel that gave up waited for, by name (MPK-R0401).

use std::fmt;

use super::abi;
use crate::plan::Plan;

/// A wait that did not end, or a counter that was further than it can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The task that waited; none for the controller.
    pub task: Option<String>,
    /// Its worker.
    pub worker: u32,
    /// `consumer` or `controller`.
    pub role: &'static str,
    /// What it waited for.
    pub site: String,
    /// Whether the counter was further than wanted, instead of not far enough.
    pub overrun: bool,
    /// Arrivals wanted, where it is a counter.
    pub wanted: u32,
    /// Arrivals seen.
    pub seen: u32,
    /// The step, from 1 on.
    pub step: u32,
}

impl Fault {
    /// The fault that the others come from, of the records of the kernel that ran `plan`: a counter that was overrun, else the
    /// earliest op of the step that waited, since all that waits after it waits for it; else the controller.
    pub fn first(plan: &Plan, records: &[abi::Fault]) -> Option<Fault> {
        let given = records.iter().filter(|record| record.kind != 0);
        let first = given.min_by_key(|r| (r.kind != abi::OVERRUN, r.epoch, r.op, r.worker))?;
        Some(Fault::of(plan, first))
    }

    fn of(plan: &Plan, record: &abi::Fault) -> Fault {
        let label = |op: usize| plan.ops.get(op).map(|op| op.label.clone());
        let op = (record.op != abi::NO_OP).then_some(record.op as usize);
        let role = if op.is_none() { "controller" } else { "consumer" };
        let site = match record.what {
            abi::PAGE => format!("the loader's page in stage {} of the ring", record.index),
            abi::GRID => "the other workers at the grid barrier".to_string(),
            _ => {
                let queue = plan.queues.get(record.worker as usize);
                let share = queue.and_then(|queue| queue.tasks.iter().find(|share| Some(share.op) == op));
                let waits = if op.is_some() { share.map_or(&[][..], |share| &share.waits) } else { &plan.boundary[..] };
                waits.get(record.index as usize).and_then(|op| label(*op)).unwrap_or_else(|| "a counter".to_string())
            }
        };
        Fault {
            task: op.and_then(label),
            worker: record.worker,
            role,
            site,
            overrun: record.kind == abi::OVERRUN,
            wanted: record.wanted,
            seen: record.seen,
            step: record.epoch,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MPK-R0401: ")?;
        if let Some(task) = &self.task {
            write!(f, "{task} on ")?;
        }
        let what = if self.overrun { "was overrun by" } else { "waited too long for" };
        write!(f, "worker {}, {}: {what} {}", self.worker, self.role, self.site)?;
        if self.wanted != 0 {
            write!(f, ", wanted {}, seen {}", self.wanted, self.seen)?;
        }
        write!(f, ", in step {}", self.step)
    }
}

impl std::error::Error for Fault {}
