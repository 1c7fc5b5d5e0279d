//! Judges one body: the same code for inline text and for files.

use super::{Text, flow, lexer, macros, state, structure, words};
use crate::errors::{Code, Problem};

/// The body that is judged, and what is known of its task.
#[derive(Debug)]
pub struct Subject<'a> {
    /// The name of the role.
    pub role: &'a str,
    /// Whether that is the consumer.
    pub consumer: bool,
    /// Whether the task is grid-wide.
    pub grid: bool,
    /// Whether some port could not be read: uses are then not judged, so that no second error follows.
    pub partial: bool,
    /// The `In` ports.
    pub ins: Vec<String>,
    /// The `Out` ports.
    pub outs: Vec<String>,
    /// The other ports.
    pub others: Vec<String>,
    /// Monotonic states.
    pub monotonic: Vec<String>,
    /// All ports whose memory changes while the kernel runs.
    pub changing: Vec<String>,
}

/// A problem and where it is; without an offset it is of the body as a whole.
#[derive(Debug)]
pub struct Finding {
    pub at: Option<usize>,
    pub problem: Problem,
}

impl Finding {
    /// A problem at an offset.
    pub fn at(at: usize, problem: Problem) -> Finding {
        Finding { at: Some(at), problem }
    }
}

/// Everything that is wrong with a body, in the order of its text.
pub fn check(subject: &Subject<'_>, text: &str) -> Vec<Finding> {
    let lexed = lexer::lex(text);
    let mut findings: Vec<Finding> = Vec::new();
    for (at, what) in &lexed.unfinished {
        findings.push(Finding::at(*at, Problem::plain(format!("{what} that does not end"), "close it")));
    }
    for at in &lexed.includes {
        let problem = Problem::plain(
            "a body includes no file: its text would not be checked",
            "what a body may use is there already; share code of your own as Rust macros do, or in one file",
        );
        findings.push(Finding::at(*at, problem));
    }
    let tokens = macros::expand(&lexed);
    if tokens.iter().all(|t| t.is(";") || t.text.is_empty()) {
        findings.push(Finding { at: None, problem: empty(subject) });
        return findings;
    }
    words::check(&lexed, &subject.changing, &mut findings);
    state::check(&tokens, &subject.monotonic, &mut findings);
    if subject.partial {
        return findings;
    }
    let ports: Vec<String> = [&subject.ins, &subject.outs, &subject.others].into_iter().flatten().cloned().collect();
    let events = structure::events(&tokens, &ports);
    flow::check(subject, &activations(subject, events), &mut findings);
    findings.sort_by_key(|finding| finding.at);
    findings
}

fn empty(subject: &Subject<'_>) -> Problem {
    let problem = Problem::new(Code::E0101, format!("the body of `{}` is empty", subject.role));
    problem.help(if subject.consumer {
        "write the body: at least `dep_wait();`"
    } else {
        "write the body, or leave the role out"
    })
}

/// Uses of weights, parameters and state are free at any time.
fn activations<'a>(subject: &Subject<'_>, events: Vec<structure::Event<'a>>) -> Vec<structure::Event<'a>> {
    let free = |event: &structure::Event<'_>| matches!(event.what, structure::What::Use(port) if subject.others.iter().any(|p| p == port));
    events.into_iter().filter(|event| !free(event)).collect()
}

/// The problem with where it is, in words, for a text that spans can't point into.
pub fn located(problem: Problem, text: &Text, at: usize) -> Problem {
    let before = &text.text[..at];
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = text.text[start..].lines().next().unwrap_or_default();
    let (number, column) = (before.matches('\n').count() + text.line, before[start..].chars().count() + 1);
    let indent: String = before[start..].chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    let width = lexer::lex(&text.text[at..start + line.len()]).tokens.first().map_or(1, |t| t.text.chars().count().max(1));
    problem.with_context(&format!(
        "in {}, line {number}, column {column}:\n    {line}\n    {indent}{}",
        text.file,
        "^".repeat(width)
    ))
}
