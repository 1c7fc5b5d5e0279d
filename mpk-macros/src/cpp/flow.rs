//! Waits, uses and pages in the order of a body: MPK-E0102, E0103, E0104, E0120 and E0133.

use super::checker::{Finding, Subject};
use super::structure::{Event, What};
use crate::errors::{Code, Problem, closest};

/// Judges the events of one body.
pub fn check(subject: &Subject<'_>, events: &[Event<'_>], findings: &mut Vec<Finding>) {
    let waits = waits(subject, events, findings);
    if subject.consumer {
        unwaited(subject, events, &waits, findings);
    }
    early(subject, events, &waits, findings);
    pages(events, findings);
    for event in events {
        match event.what {
            What::GridBarrier { inside: Some(place) } => {
                let problem = Problem::new(Code::E0120, format!("`grid_barrier()` stands in {place}"))
                    .gpu("workers that do not come by would keep all others in the barrier for ever")
                    .help("move it to where every worker comes by");
                findings.push(Finding::at(event.at, problem));
            }
            What::GridBarrier { .. } if !subject.grid => {
                findings
                    .push(Finding::at(event.at, Problem::new(Code::E0120, "`grid_barrier()` in a task that is not grid-wide")));
            }
            What::Unbalanced => {
                findings.push(Finding::at(
                    event.at,
                    Problem::plain(
                        "a bracket without its other half",
                        "close every bracket that is opened, in each branch of an `#if`",
                    ),
                ));
            }
            _ => {}
        }
    }
}

/// A wait that counts: its place in the events, and the `In`s that it waits for.
struct Wait<'a> {
    event: usize,
    ports: Vec<&'a str>,
}

/// The waits, each judged by itself and against those before it.
fn waits<'a>(subject: &'a Subject<'_>, events: &[Event<'_>], findings: &mut Vec<Finding>) -> Vec<Wait<'a>> {
    let mut waits: Vec<Wait<'a>> = Vec::new();
    let mut jump = None;
    for (i, event) in events.iter().enumerate() {
        let mut said = |problem| findings.push(Finding::at(event.at, problem));
        let (ports, inside) = match &event.what {
            What::Jump(word) => {
                jump.get_or_insert(*word);
                continue;
            }
            What::Wait { ports, inside } => (ports, inside),
            _ => continue,
        };
        let wait = match &ports[..] {
            [] => Wait { event: i, ports: subject.ins.iter().map(String::as_str).collect() },
            [port] => match subject.ins.iter().find(|name| *name == port) {
                Some(name) => Wait { event: i, ports: vec![name] },
                None => {
                    said(not_an_in(subject, port));
                    continue;
                }
            },
            _ => {
                said(
                    Problem::new(Code::E0102, "`dep_wait` takes one port, or none")
                        .help("write `dep_wait();` for all `In`s, or one `dep_wait(x);` for each"),
                );
                continue;
            }
        };
        match (inside, jump) {
            (Some(place), _) => said(
                Problem::new(Code::E0102, format!("`dep_wait` stands in {place}"))
                    .gpu("it would be waited for never, or more than once: a deadlock, or a read of activations that are not there yet")
                    .help("move it to the top level of the body, as a statement of its own"),
            ),
            (None, Some(word)) => said(
                Problem::new(Code::E0102, format!("`dep_wait` stands after a `{word}`, which may leave before it"))
                    .help(format!("wait first, and put an `if` around the work instead of the `{word}`")),
            ),
            _ => {}
        }
        let again: Vec<&str> = wait.ports.iter().copied().filter(|p| waits.iter().any(|w| w.ports.contains(p))).collect();
        if !again.is_empty() || (subject.ins.is_empty() && !waits.is_empty()) {
            let what = if again.is_empty() {
                "`dep_wait` stands here a second time".into()
            } else {
                format!("{} is waited for a second time", list(&again))
            };
            said(
                Problem::new(Code::E0102, what)
                    .gpu("the second wait would count triggers of the next step, and never return")
                    .help("wait once, before the first use"),
            );
            if again.len() == wait.ports.len() {
                continue;
            }
        }
        waits.push(wait);
    }
    waits
}

fn not_an_in(subject: &Subject<'_>, port: &str) -> Problem {
    let near = closest(port, subject.ins.iter().map(String::as_str));
    let (what, help) = if subject.others.iter().any(|name| name == port) {
        (
            format!("`dep_wait({port})`: `{port}` is not an `In`, there is nothing to wait for"),
            "wait for `In` ports only".to_string(),
        )
    } else {
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if subject.ins.is_empty() => "this task has no `In`".to_string(),
            None => format!("the `In`s of this task are {}", list(&subject.ins)),
        };
        (format!("`dep_wait({port})`: there is no port `{port}`"), help)
    };
    Problem::new(Code::E0102, what).help(help)
}

/// `In`s that the consumer never waits for.
fn unwaited(subject: &Subject<'_>, events: &[Event<'_>], waits: &[Wait<'_>], findings: &mut Vec<Finding>) {
    let missing: Vec<&str> =
        subject.ins.iter().map(String::as_str).filter(|p| !waits.iter().any(|w| w.ports.contains(p))).collect();
    // A wait with a misspelt port is reported already.
    let misspelt = events
        .iter()
        .any(|e| matches!(&e.what, What::Wait { ports, .. } if ports.iter().any(|p| !subject.ins.iter().any(|n| n == p))));
    if missing.is_empty() || misspelt {
        return;
    }
    let first = events.iter().find(|e| matches!(e.what, What::Use(port) if missing.contains(&port)));
    let help = match missing.as_slice() {
        [one] if !waits.is_empty() => format!("add `dep_wait({one});` at the top level, before its first use"),
        _ => "add `dep_wait();` at the top level, before the first use".to_string(),
    };
    let problem = Problem::new(Code::E0102, format!("the consumer never waits for {}", list(&missing)))
        .gpu("the task would read activations that are not there yet")
        .help(help);
    findings.push(Finding { at: first.map(|e| e.at), problem });
}

/// Activations touched before their wait. Each port is reported once.
fn early(subject: &Subject<'_>, events: &[Event<'_>], waits: &[Wait<'_>], findings: &mut Vec<Finding>) {
    let last = waits.iter().map(|w| w.event).max();
    let mut seen: Vec<&str> = Vec::new();
    for (i, event) in events.iter().enumerate() {
        let What::Use(port) = event.what else { continue };
        let own = waits.iter().find(|w| w.ports.contains(&port)).map(|w| w.event);
        let is_in = subject.ins.iter().any(|name| name == port);
        let wait = if is_in { own } else { last };
        let (too_early, never) = (wait.is_some_and(|wait| i < wait), wait.is_none());
        // What the consumer never waits for is reported as such, and without an `In` it has nothing to wait for.
        if seen.contains(&port) || !(too_early || (never && !subject.consumer)) {
            continue;
        }
        seen.push(port);
        findings.push(Finding::at(
            event.at,
            if subject.consumer {
                too_soon(port, is_in, waits.len())
            } else {
                Problem::new(Code::E0104, format!("`{port}` is touched in `{}`, which has not waited", subject.role))
                    .help("leave activations to the consumer, or wait in this body first: `dep_wait();`")
            },
        ));
    }
}

fn too_soon(port: &str, is_in: bool, waits: usize) -> Problem {
    let wait = match (is_in, waits) {
        (_, 1) => "`dep_wait`",
        (true, _) => "its `dep_wait`",
        (false, _) => "the last `dep_wait`",
    };
    let (verb, gpu) = match is_in {
        true => ("read", "the task would read what the step before left there: right at step 0, wrong later"),
        false => ("written", "the task would overwrite what a slow reader still needs: right at step 0, wrong later"),
    };
    Problem::new(Code::E0103, format!("`{port}` is {verb} before {wait}")).gpu(gpu)
}

/// Pages are read by whole loops.
fn pages(events: &[Event<'_>], findings: &mut Vec<Finding>) {
    for (i, event) in events.iter().enumerate() {
        let problem = match event.what {
            What::Leave(word) => Problem::new(Code::E0133, format!("`{word}` leaves a loop over pages before its end")),
            What::Pages { port, looped: false } => {
                Problem::new(Code::E0133, format!("`{port}.pages()` outside of the header of a loop"))
                    .help(format!("write `for (auto p : {port}.pages()) {{ … }}`"))
            }
            What::Jump(word) if events[i..].iter().any(|e| matches!(e.what, What::Pages { .. })) => {
                // A wait after it is reported as such.
                if events[i..].iter().any(|e| matches!(e.what, What::Wait { .. }))
                    || events[..i].last().is_some_and(|e| e.what == What::Leave(word))
                {
                    continue;
                }
                Problem::new(Code::E0133, format!("`{word}` may leave before the loop over the pages"))
                    .help(format!("run the loop on every path; put an `if` around the work instead of the `{word}`"))
            }
            _ => continue,
        };
        findings.push(Finding::at(event.at, problem));
    }
}

/// `` `a`, `b` ``.
fn list(names: &[impl AsRef<str>]) -> String {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}
