//! Judges one body: the same code for inline text and for files.

use super::lexer::Fault;
use super::{Text, diverge, flow, lexer, pages, structure, this, words};
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
    /// The weights that have pages, in the order of the signature.
    pub matrices: Vec<String>,
    /// Ports and scratch regions whose values may differ from thread to thread.
    pub varying: Vec<String>,
    /// All ports whose memory changes while the kernel runs, and how each is to be read.
    pub changing: Vec<(String, String)>,
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
    let lexed = super::read(text);
    let mut findings: Vec<Finding> = lexed.faults.iter().map(|(at, fault)| Finding::at(*at, hides(*fault))).collect();
    let tokens = &lexed.tokens;
    if tokens.iter().all(|t| t.text.is_empty() || [";", "{", "}", "return"].iter().any(|text| t.is(text))) {
        findings.push(Finding { at: None, problem: empty(subject) });
        return findings;
    }
    words::check(tokens, &subject.changing, &mut findings);
    if subject.partial {
        return findings;
    }
    let ports: Vec<String> = [&subject.ins, &subject.outs, &subject.others].into_iter().flatten().cloned().collect();
    let events = structure::events(tokens, &ports, &subject.matrices);
    flow::check(subject, &events, &mut findings);
    // A write may be in what can't be read, or under another name that is reported.
    let aliased = tokens.iter().enumerate().any(|(i, token)| token.is("this") && !this::is_captured(tokens, i));
    if subject.consumer && lexed.faults.is_empty() && !aliased {
        flow::unwritten(subject, &events, &mut findings);
    }
    pages::check(subject, &events, &mut findings);
    if !events.iter().any(|event| event.what == structure::What::Unbalanced) {
        diverge::check(tokens, &subject.varying, &mut findings);
    }
    findings.sort_by_key(|finding| finding.at);
    findings
}

/// The problem with what the checks can't see through.
fn hides(fault: Fault<'_>) -> Problem {
    const UNSEEN: &str = "what stands there would not be checked: a barrier or a wait could hide in it";
    let (what, help) = match fault {
        Fault::Unfinished(what) => return Problem::plain(format!("{what} that does not end"), "close it"),
        Fault::Directive("undef") => ("`#undef` in a body".into(), "give each macro a name of its own, defined once"),
        Fault::Directive(name) => (
            format!("`#{name}` in a body"),
            "what a body may use is there already, and is included by the kernel; write code of your own into the body itself",
        ),
        Fault::Redefined(name) => (format!("a second `#define {name}`"), "give each macro a name of its own, defined once"),
        Fault::Conditional(name) => (
            format!("`#define {name}` within an `#if`"),
            "define the macro once, and choose with `if constexpr` where it is used",
        ),
        Fault::Paste(sign) => (format!("`{sign}` in a macro"), "write the word or the string out, or make it a parameter"),
        Fault::Splice => {
            ("a `\\` outside of a string, or within a word or a string".into(), "write it in one line, without `\\`")
        }
        Fault::Digraph => ("a digraph".into(), "write the bracket or `#` itself; with a blank between two operators"),
        Fault::Endless => ("macros that stand for too much text".into(), "write a loop, or a lambda"),
    };
    Problem::plain(what, help).gpu(UNSEEN)
}

fn empty(subject: &Subject<'_>) -> Problem {
    let problem = Problem::new(Code::E0101, format!("the body of `{}` is empty", subject.role));
    problem.help(if subject.consumer {
        "write the body: `dep_wait();`, the work, and a `store` to each `Out`"
    } else {
        "write the body, or leave the role out"
    })
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
