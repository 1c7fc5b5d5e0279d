//! Pages are read by whole loops, once, in the order in which the loader streams them: MPK-E0133.

use super::checker::{Finding, Subject};
use super::flow::list;
use super::structure::{Event, What};
use crate::errors::{Code, Problem};

/// Judges the loops over pages.
pub fn check(subject: &Subject<'_>, events: &[Event<'_>], findings: &mut Vec<Finding>) {
    // The loops so far that count.
    let mut read: Vec<&str> = Vec::new();
    for (i, event) in events.iter().enumerate() {
        let problem = match &event.what {
            What::Leave(word) => Some(Problem::new(Code::E0133, format!("`{word}` leaves a loop over pages before its end"))),
            What::LoosePages => Some(loose(subject)),
            What::Pages { port, inside: Some(place) } => {
                let problem = Problem::new(Code::E0133, format!("the loop over the pages of `{port}` stands in {place}"))
                    .gpu("the loader streams the pages once for each task: they would be left in the ring, or waited for in vain")
                    .help("move the loop to the top level of the body; put the branch or the loop into it");
                Some(problem)
            }
            What::Pages { port, inside: None } => {
                let problem = out_of_turn(subject, port, &read);
                read.push(*port);
                problem
            }
            What::Return => returns(&events[..i], &events[i..]),
            _ => None,
        };
        findings.extend(problem.map(|problem| Finding::at(event.at, problem)));
    }
}

fn loose(subject: &Subject<'_>) -> Problem {
    let matrix = subject.matrices.first().map_or("w", String::as_str);
    Problem::new(Code::E0133, "`.pages()` of something else than a weight by its own name, or outside of the header of a loop")
        .help(format!("write `for (auto p : {matrix}.pages()) {{ … }}`"))
}

/// A loop over pages that are read already, or that come after others.
fn out_of_turn(subject: &Subject<'_>, port: &str, read: &[&str]) -> Option<Problem> {
    let place = |name: &str| subject.matrices.iter().position(|matrix| matrix == name);
    if read.contains(&port) {
        let problem = Problem::new(Code::E0133, format!("a second loop over the pages of `{port}`"))
            .gpu("each page is streamed once: the second loop would read the bytes of what comes after, and stall the ring")
            .help("do all work with a page in one loop");
        return Some(problem);
    }
    read.iter().find(|before| place(before) > place(port)).map(|before| {
        let order: Vec<&String> = subject.matrices.iter().filter(|m| read.contains(&m.as_str()) || *m == port).collect();
        Problem::new(Code::E0133, format!("the pages of `{port}` are read after those of `{before}`"))
            .gpu("the ring is filled in the order of the signature: each loop would read the bytes of the other weight")
            .help(format!("loop over them in the order of the signature: {}", list(&order)))
    })
}

/// A `return` that may leave before a loop over pages. One before a wait is reported as such.
fn returns(before: &[Event<'_>], after: &[Event<'_>]) -> Option<Problem> {
    let leaves = before.last().is_some_and(|e| e.what == What::Leave("return"));
    let waits = after.iter().any(|e| matches!(e.what, What::Wait { .. }));
    let skips = after.iter().any(|e| matches!(e.what, What::Pages { .. } | What::LoosePages));
    (skips && !waits && !leaves).then(|| {
        Problem::new(Code::E0133, "`return` may leave before the loop over the pages")
            .help("run the loop on every path; put an `if` around the work instead of the `return`")
    })
}
