//! Waits and uses in the order of a body: MPK-E0102, E0103, E0104, E0120 and E0121.

use super::checker::{Finding, Subject};
use super::structure::{Event, What};
use crate::errors::{Code, Problem, closest};

/// What may be done to a monotonic state.
const GROWS: [&str; 3] = ["at", "load", "add"];

/// Judges the events of one body.
pub fn check(subject: &Subject<'_>, events: &[Event<'_>], findings: &mut Vec<Finding>) {
    let waits = waits(subject, events, findings);
    if subject.consumer {
        unwaited(subject, events, &waits, findings);
        early(subject, events, &waits, findings);
    } else {
        foreign(subject, events, findings);
    }
    for (i, event) in events.iter().enumerate() {
        let problem = match &event.what {
            What::GridBarrier { inside } => grid_barrier(subject, *inside, &events[..i]),
            What::Use { port, member } if subject.monotonic.iter().any(|name| name == port) => monotonic(port, *member),
            What::Spin => Some(
                Problem::new(Code::E0102, "a loop that waits by itself: nothing in it changes what it asks")
                    .gpu("it may never end, and no abort would end it: a deadlock")
                    .help("wait for other tasks with `dep_wait()`, for threads with `groups_sync()`, for workers with `grid_barrier()`"),
            ),
            What::Unbalanced => Some(Problem::plain(
                "a bracket without its other half",
                "close every bracket that is opened, in each branch of an `#if`",
            )),
            _ => None,
        };
        findings.extend(problem.map(|problem| Finding::at(event.at, problem)));
    }
}

fn grid_barrier(subject: &Subject<'_>, inside: Option<&str>, before: &[Event<'_>]) -> Option<Problem> {
    let away = |what: String| {
        Problem::new(Code::E0120, what)
            .gpu("workers that do not come by would keep all others in the barrier for ever")
            .help("move it to where every worker comes by, as a statement of its own")
    };
    if let Some(place) = inside {
        Some(away(format!("`grid_barrier()` stands in {place}")))
    } else if before.iter().any(|event| event.what == What::Return) {
        Some(away("`grid_barrier()` stands after a `return`, which may leave before it".into()))
    } else {
        (!subject.grid).then(|| Problem::new(Code::E0120, "`grid_barrier()` in a task that is not grid-wide"))
    }
}

/// A monotonic state only grows: it is named to be read or added to, and for nothing else.
fn monotonic(port: &str, member: Option<&str>) -> Option<Problem> {
    let what = match member {
        Some(member) if GROWS.contains(&member) => return None,
        Some(member) => format!("`{member}` of the monotonic state `{port}`, which may only grow"),
        None => format!("the monotonic state `{port}` under another name, by which it could be set back"),
    };
    Some(
        Problem::new(Code::E0121, what)
            .help(format!("read it with `{port}.at(…)` or `{port}.load<N>(…)`, add to it with `{port}.add(…)`")),
    )
}

/// Activations in a role that does not wait. Each port is reported once.
fn foreign(subject: &Subject<'_>, events: &[Event<'_>], findings: &mut Vec<Finding>) {
    let mut seen: Vec<&str> = Vec::new();
    for event in events {
        let What::Use { port, .. } = event.what else { continue };
        let activation = subject.ins.iter().chain(&subject.outs).any(|name| name == port);
        if activation && !seen.contains(&port) {
            seen.push(port);
            findings.push(Finding::at(event.at, Problem::new(Code::E0104, format!("`{port}` is touched in `{}`", subject.role))));
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
    let mut returned = false;
    for (i, event) in events.iter().enumerate() {
        let mut said = |problem| findings.push(Finding::at(event.at, problem));
        let (ports, inside) = match &event.what {
            What::Return => {
                returned = true;
                continue;
            }
            What::Wait { ports, inside } => (ports, inside),
            _ => continue,
        };
        let mut wait = Wait { event: i, ports: Vec::new() };
        for port in ports {
            match subject.ins.iter().find(|name| *name == port) {
                Some(name) => wait.ports.push(name),
                None => said(not_an_in(subject, port)),
            }
        }
        if ports.is_empty() {
            wait.ports = subject.ins.iter().map(String::as_str).collect();
        } else if wait.ports.is_empty() {
            continue;
        }
        match inside {
            Some(place) => said(
                Problem::new(Code::E0102, format!("`dep_wait` stands in {place}"))
                    .gpu("it would be waited for never, or more than once: a deadlock, or a read of activations that are not there yet")
                    .help("move it to the top level of the body, as a statement of its own"),
            ),
            None if returned => said(
                Problem::new(Code::E0102, "`dep_wait` stands after a `return`, which may leave before it")
                    .help("wait first, and put an `if` around the work instead of the `return`"),
            ),
            None => {}
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
    let first = events.iter().find(|e| matches!(e.what, What::Use { port, .. } if missing.contains(&port)));
    let help = match missing.as_slice() {
        [one] if !waits.is_empty() => format!("add `dep_wait({one});` at the top level, before its first use"),
        _ => "add `dep_wait();` at the top level, before the first use".to_string(),
    };
    let problem = Problem::new(Code::E0102, format!("the consumer never waits for {}", list(&missing)))
        .gpu("the task would read activations that are not there yet")
        .help(help);
    findings.push(Finding { at: first.map(|e| e.at), problem });
}

/// `Out`s that the consumer never writes: neither by `store`, nor under another name.
pub fn unwritten(subject: &Subject<'_>, events: &[Event<'_>], findings: &mut Vec<Finding>) {
    let writes = |event: &Event<'_>, name: &str| match event.what {
        What::Use { port, member } => port == name && member.is_none_or(|member| member.starts_with("store")),
        _ => false,
    };
    for name in subject.outs.iter().filter(|name| !events.iter().any(|event| writes(event, name))) {
        let problem = Problem::plain(format!("the consumer never writes `{name}`"), "write each element of it once")
            .gpu("who reads it would be told that it is there, and go on with what the step before left in its place")
            .help(format!("write each element of it once: `{name}.store(t, n, value);`"));
        findings.push(Finding { at: None, problem });
    }
}

/// Activations and counts touched before their wait. Each port is reported once.
fn early(subject: &Subject<'_>, events: &[Event<'_>], waits: &[Wait<'_>], findings: &mut Vec<Finding>) {
    let is = |names: &[String], port: &str| names.iter().any(|name| name == port);
    let (first, last) = (waits.first().map(|w| w.event), waits.last().map(|w| w.event));
    let mut seen: Vec<&str> = Vec::new();
    for (i, event) in events.iter().enumerate() {
        let What::Use { port, .. } = event.what else { continue };
        if seen.contains(&port) {
            continue;
        }
        let problem = if is(&subject.ins, port) {
            // One that is never waited for is reported as such.
            let own = waits.iter().find(|w| w.ports.contains(&port)).map(|w| w.event);
            let wait = if waits.len() == 1 { "`dep_wait`" } else { "its `dep_wait`" };
            let gpu = "the task would read what the step before left there: right at step 0, wrong later";
            own.filter(|wait| i < *wait).map(|_| too_soon(port, "read", wait).gpu(gpu))
        } else if is(&subject.outs, port) {
            // Without an `In` there may be nothing to wait for: the boundary of the steps orders the writes.
            let wait = if waits.len() == 1 { "`dep_wait`" } else { "the last `dep_wait`" };
            let gpu = "the task would overwrite what a slow reader still needs: right at step 0, wrong later";
            last.filter(|wait| i < *wait).map(|_| too_soon(port, "written", wait).gpu(gpu))
        } else if is(&subject.monotonic, port) && first.is_none_or(|wait| i < wait) {
            let gpu = "its first values are written by another task, and may not be there yet at step 0";
            Some(
                too_soon(port, "touched", "any `dep_wait`")
                    .gpu(gpu)
                    .help("move the access after `dep_wait();`, which a count needs too"),
            )
        } else {
            None
        };
        if let Some(problem) = problem {
            seen.push(port);
            findings.push(Finding::at(event.at, problem));
        }
    }
}

fn too_soon(port: &str, verb: &str, wait: &str) -> Problem {
    Problem::new(Code::E0103, format!("`{port}` is {verb} before {wait}"))
}

/// `` `a`, `b` ``.
pub fn list(names: &[impl AsRef<str>]) -> String {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}
