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
mod names;
mod random;
mod report;
mod run;
#[cfg(test)]
mod tests;

pub use case::{Case, STEP_ROWS, over};
pub use compare::{Figures, Rule, compare};
pub use machine::{Begin, Machine, Start, start};
pub use matrix::Matrix;
pub use random::Random;
pub use report::{Report, TaskReport};
pub use run::{WORKERS, plan};

use crate::host::caught;
use crate::shape::PortKind;
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
    let mut report = TaskReport {
        task: check.op.name,
        pass: false,
        cases: 0,
        skipped: 0,
        mutants: 0,
        refused: 0,
        worst: Figures::EXACT,
        failures: Vec::new(),
    };
    // A panic in what the author wrote (cases, views, a reference) is a failure of this task alone. Nothing of a case outlives
    // it but what is immutable, so that no other sees what was half-written.
    let cases = match caught(|| (check.cases)()) {
        Ok(cases) => cases,
        Err(panic) => {
            report.failures.push(format!("its cases panic: {panic}"));
            return report;
        }
    };
    report.failures.extend(unexpected(check, &cases));
    let (cases, skipped): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(|case| case.ranks <= start.ranks);
    (report.cases, report.skipped) = (cases.len(), skipped.len());
    for case in &cases {
        match caught(|| run::case(check, case, start)) {
            Ok(Ok(outcome)) => {
                report.mutants += outcome.mutants;
                report.refused += outcome.refused;
                report.worst = report.worst.or(outcome.figures);
                report.failures.extend(outcome.failures.iter().map(|what| format!("{}: {what}", case.name)));
            }
            Ok(Err(error)) => report.failures.push(format!("{}: {error}", case.name)),
            Err(panic) => report.failures.push(format!("{}: it panics: {panic}", case.name)),
        }
    }
    if report.cases + report.skipped == 0 {
        report.failures.push("it has no cases\nhelp: give some: a task without is not checked".to_string());
    }
    // A task whose cases all need more ranks is said to be skipped.
    report.pass = report.failures.is_empty() && (report.mutants > 0 || report.cases == 0);
    report
}

/// The `Out`s of which no case says what they give.
fn unexpected(check: &Check, cases: &[Case]) -> Vec<String> {
    let ports = check.op.stages.last().map_or(&[][..], |task| task.signature.ports);
    let said = |name: &str| {
        let mut expects = cases.iter().flat_map(|case| &case.steps).flat_map(|step| &step.expects);
        expects.any(|expect| !matches!(expect.what, case::Target::State(_)) && expect.what.port() == name)
    };
    let outs = ports.iter().filter(|port| port.kind == PortKind::Out && !cases.is_empty() && !said(port.name));
    outs.map(|port| format!("no case says what `{}` is\nhelp: add a `gives` or `gives_view` of it", port.name)).collect()
}
