//! What came of checks, for people and for programs.

use std::fmt;

use serde::Serialize;

use super::Figures;

/// What came of all checks.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Whether every task gives what its definition gives, and every mutant was refused.
    pub pass: bool,
    /// By task.
    pub tasks: Vec<TaskReport>,
}

/// What came of the cases of one task.
#[derive(Clone, Debug, Serialize)]
pub struct TaskReport {
    /// The task.
    pub task: &'static str,
    /// Whether all cases passed and all mutants were refused.
    pub pass: bool,
    /// Cases run.
    pub cases: usize,
    /// Cases of more ranks than the backend runs.
    pub skipped: usize,
    /// Wrong results compared.
    pub mutants: usize,
    /// Those of them that were refused.
    pub refused: usize,
    /// The worst figures over all cases.
    pub worst: Figures,
    /// What went wrong, by case.
    pub failures: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<18} {:>6} {:>10} {:>10} {:>9} {:>8}", "task", "cases", "error", "cosine", "mutants", "refused")?;
        for t in &self.tasks {
            let verdict = match (t.pass, t.cases, t.skipped) {
                (false, ..) => "FAIL".to_string(),
                (true, _, 0) => "pass".to_string(),
                (true, 0, n) => format!("skipped: {n} cases of several ranks"),
                (true, _, n) => format!("pass, {n} cases of several ranks skipped"),
            };
            writeln!(
                f,
                "{:<18} {:>6} {:>10.1e} {:>10.6} {:>9} {:>8}  {verdict}",
                t.task, t.cases, t.worst.error, t.worst.cosine, t.mutants, t.refused
            )?;
            for failure in &t.failures {
                writeln!(f, "    {failure}")?;
            }
        }
        write!(f, "{} tasks: {}", self.tasks.len(), if self.pass { "pass" } else { "FAIL" })
    }
}
