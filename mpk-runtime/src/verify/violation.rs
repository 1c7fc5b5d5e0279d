//! What a check finds.

use std::fmt;

use serde::Serialize;

use crate::graph::OpId;

/// A contract of plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Code {
    /// No cyclic waits; every wait counts exactly the triggers that arrive.
    P0201,
    /// No deadlock: queues and streams are consistent with one order.
    P0202,
    /// Every element is written once a step; reads after writes, overwrites after reads.
    P0203,
    /// Regions that live at once do not overlap, and everything fits.
    P0204,
    /// A grid-wide task has one instance on each worker, at a common point of all queues.
    P0205,
    /// All workers are resident at once.
    P0206,
    /// A slice has the head and the tail of the full model.
    P0207,
    /// What no epoch word carries is ordered by the step boundary.
    P0208,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MPK-{self:?}")
    }
}

/// A contract that a plan breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{code}: {text}")]
pub struct Violation {
    /// Which contract.
    pub code: Code,
    /// What is wrong and where, what it would do on the GPU, and what to do.
    pub text: String,
    /// The op at fault.
    pub op: Option<OpId>,
    /// The queue at fault: `rank * workers + worker`.
    pub queue: Option<usize>,
}

/// Collects violations, a bounded number of each code.
#[derive(Debug, Default)]
pub(super) struct Found(Vec<Violation>);

/// Violations kept of each code: one mistake repeats on every worker, and the first few say it all.
const MOST_PER_CODE: usize = 16;

impl Found {
    pub(super) fn add(&mut self, code: Code, op: Option<OpId>, queue: Option<usize>, text: String) {
        if self.0.iter().filter(|v| v.code == code).count() < MOST_PER_CODE {
            self.0.push(Violation { code, text, op, queue });
        }
    }

    pub(super) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// All of them, by code and else in the order found.
    pub(super) fn sorted(mut self) -> Vec<Violation> {
        self.0.sort_by_key(|v| v.code);
        self.0
    }
}
