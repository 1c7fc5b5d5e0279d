//! Whether a case says what it means: its names are those of the task's ports.

use std::collections::BTreeSet;

use super::case::{Case, Target};
use crate::shape::{Port, PortKind};
use crate::task::OpDef;

/// What a case may name a port for.
#[derive(Clone, Copy)]
struct Role {
    /// The kind of port, with its article.
    a: &'static str,
    fits: fn(&Port) -> bool,
}

const IN: Role = Role { a: "an `In`", fits: |port| port.kind == PortKind::In };
const OUT: Role = Role { a: "an `Out`", fits: |port| port.kind == PortKind::Out };
const WEIGHT: Role = Role { a: "a `Weight`", fits: |port| port.kind == PortKind::Weight };
const STATE: Role = Role { a: "a `State`", fits: |port| matches!(port.kind, PortKind::State { .. }) };
/// A model chooses the element type of an `Out` as it does a parameter.
const PARAM: Role = Role { a: "a `Param` or an `Out`", fits: |port| matches!(port.kind, PortKind::Param(_) | PortKind::Out) };

/// Whether every name in `case` is that of a port of `op` of the kind that it is used as.
///
/// # Errors
/// All names that are not, with those that would do.
pub(super) fn check(op: &OpDef, case: &Case) -> Result<(), String> {
    let steps = || case.steps.iter();
    let used = [
        (
            IN,
            case.inputs.iter().map(|fed| fed.port).chain(steps().flat_map(|step| step.inputs.iter().map(|fed| fed.0))).collect(),
        ),
        (WEIGHT, case.weights.iter().map(|weight| weight.port).collect()),
        (PARAM, case.named.iter().map(|(port, _)| *port).collect()),
        (
            STATE,
            case.states.iter().map(|(port, _)| *port).chain(targets(case, |what| matches!(what, Target::State(_)))).collect(),
        ),
        (OUT, targets(case, |what| !matches!(what, Target::State(_))).collect()),
    ];
    let wrong: Vec<String> = used
        .into_iter()
        .flat_map(|(role, names): (Role, BTreeSet<&str>)| names.into_iter().filter_map(move |name| unknown(op, role, name)))
        .chain(steps().filter_map(|step| other_inputs(case, step.inputs.iter().map(|fed| fed.0).collect())))
        .chain(case.stray.iter().cloned())
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// The ports that `case` says something of after a step.
fn targets(case: &Case, fits: fn(&Target) -> bool) -> impl Iterator<Item = &'static str> + '_ {
    let expects = case.steps.iter().flat_map(|step| &step.expects);
    expects.filter(move |expect| fits(&expect.what)).map(|expect| expect.what.port())
}

fn unknown(op: &OpDef, role: Role, name: &str) -> Option<String> {
    let ports: Vec<&Port> = op.stages.iter().flat_map(|task| task.signature.ports).filter(|port| (role.fits)(port)).collect();
    if ports.iter().any(|port| port.name == name) {
        return None;
    }
    let names: Vec<String> = ports.iter().map(|port| format!("`{}`", port.name)).collect();
    let has = if names.is_empty() { "which has none".to_string() } else { format!("which has {}", names.join(", ")) };
    Some(format!("`{name}` is not {} of {}, {has}\nhelp: name a port as its signature does", role.a, op.name))
}

/// Values are fed by position: each step names the inputs of the first, in its order.
fn other_inputs(case: &Case, names: Vec<&str>) -> Option<String> {
    let first: Vec<&str> = case.inputs.iter().map(|fed| fed.port).collect();
    (names != first)
        .then(|| format!("a step has the inputs {names:?}, the first {first:?}\nhelp: name the same in the same order"))
}
