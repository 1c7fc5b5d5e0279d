//! Checks of tasks: each one against a computation of its definition that shares no code with it.
//!
//! A task is run as the plan of one op, made, proven and executed like that of a model, on seeded inputs, over outputs filled
//! with NaN. So that a comparison is known to see what it is there for, it is also held against results that a wrong kernel would
//! give (without a last step, token or run of features), and against those of a plan whose last tile nobody computes.

mod case;
mod compare;
mod feed;
mod machine;
mod matrix;
mod random;
mod report;
mod run;

pub use case::{Case, STEP_ROWS, over};
pub use compare::{Figures, Rule, compare};
pub use machine::{Begin, Machine, Start, start};
pub use matrix::Matrix;
pub use random::Random;
pub use report::{Report, TaskReport};
pub use run::{WORKERS, plan};

use crate::task::OpDef;

/// Why a case did not run.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How a task is checked.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// The task, as an op.
    pub op: OpDef,
    /// Its cases.
    pub cases: fn() -> Vec<Case>,
}

/// Runs all checks on the machine that `start` gives.
pub fn run(checks: &[Check], start: Start) -> Report {
    let tasks: Vec<TaskReport> = checks.iter().map(|check| task(check, start)).collect();
    Report { pass: tasks.iter().all(|task| task.pass), tasks }
}

fn task(check: &Check, start: Start) -> TaskReport {
    let (cases, skipped): (Vec<Case>, Vec<Case>) = (check.cases)().into_iter().partition(|case| case.ranks <= start.ranks);
    let mut report = TaskReport {
        task: check.op.name,
        pass: false,
        cases: cases.len(),
        skipped: skipped.len(),
        mutants: 0,
        refused: 0,
        worst: Figures::EXACT,
        failures: Vec::new(),
    };
    for case in &cases {
        match run::case(check, case, start) {
            Ok(outcome) => {
                report.mutants += outcome.mutants;
                report.refused += outcome.refused;
                report.worst = report.worst.or(outcome.figures);
                report.failures.extend(outcome.failures.iter().map(|what| format!("{}: {what}", case.name)));
            }
            Err(error) => report.failures.push(format!("{}: {error}", case.name)),
        }
    }
    // A task without cases or mutants is not checked; one whose cases all need more ranks is said to be skipped.
    let checked = report.cases > 0 && report.mutants > 0;
    report.pass = report.failures.is_empty() && (checked || report.cases == 0 && report.skipped > 0);
    report
}
