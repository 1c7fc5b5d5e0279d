//! Judges a task: its declaration here, its bodies with the C++ checker.

use super::model::{ALIGN, ElemSpec, Port, PortKind, Role, Source, TOKENS, Task};
use super::{names, roles, symbols};
use crate::cpp::{self, Subject};
use crate::elem::Elem;
use crate::errors::{Code, Errors, Problem, closest};

/// Shared memory of a block, less what the ring of pages needs at least.
const BUDGET: usize = (227 - 64) * 1024;
/// Alignment that bulk copies and wgmma need; nothing on the device asks for more.
const BULK: usize = 1024;

/// Reports all that is wrong with `task`; gives the groups of its consumer.
pub fn task(task: &Task, errors: &mut Errors) -> usize {
    let groups = roles::check(task, errors);
    names::check(task, errors);
    elements(task, errors);
    if !task.partial {
        additive(task, errors);
        symbols::check(task, errors);
        gives(task, errors);
    }
    if !task.partial && !task.options.partial {
        cut(task, errors);
        grid(task, errors);
        once(task, errors);
    }
    tokens(task, errors);
    shared_memory(task, errors);
    reference(task, errors);
    for body in &task.bodies {
        if matches!(body.source, Source::Unread(_)) {
            continue;
        }
        let role = body.name.to_string();
        for finding in cpp::check(&subject(task, &role), &body.text.text) {
            match finding.at {
                None => errors.report(body.name.span(), finding.problem),
                Some(at) if body.text.is_file() => {
                    errors.report(body.text.span(at), cpp::located(finding.problem, &body.text, at))
                }
                Some(at) => errors.report(body.text.span(at), finding.problem),
            }
        }
    }
    groups
}

fn subject<'a>(task: &Task, role: &'a str) -> Subject<'a> {
    let named = |wanted: fn(&Port) -> bool| -> Vec<String> {
        task.ports.iter().filter(|p| wanted(p)).map(|p| p.name.to_string()).collect()
    };
    Subject {
        role,
        partial: task.partial,
        consumer: role == Role::Consumer.name(),
        grid: task.options.grid.is_some() || task.options.partial,
        ins: named(|p| p.kind == PortKind::In),
        outs: named(|p| p.kind == PortKind::Out),
        others: named(|p| !matches!(p.kind, PortKind::In | PortKind::Out)),
        monotonic: named(|p| p.kind == PortKind::State { monotonic: true }),
        matrices: named(|p| p.kind == PortKind::Weight && p.shape.len() > 1),
        // On an abort, threads may see different activations; states and scratch may change while they are read.
        varying: named(|p| matches!(p.kind, PortKind::In | PortKind::State { .. }))
            .into_iter()
            .chain(task.options.scratch.iter().map(|region| region.name.to_string()))
            .collect(),
        changing: task.ports.iter().filter_map(|p| Some((p.name.to_string(), access(p)?))).collect(),
    }
}

/// How a body gets at a port whose memory other tasks write.
fn access(port: &Port) -> Option<String> {
    let name = &port.name;
    match port.kind {
        PortKind::In => Some(format!("read through the port: `{name}.at(t, k)` or `{name}.load<N>(t, k)`")),
        PortKind::State { .. } => Some(format!("read through the port: `{name}.at(…)` or `{name}.load<N>(…)`")),
        PortKind::Out => Some(format!("write through the port: `{name}.store(t, n, v)`")),
        PortKind::Rows => Some(format!("read through the port: `{name}[t]`")),
        PortKind::Weight | PortKind::Param(_) | PortKind::TaskOffset => None,
    }
}

/// `additive(…)` names `In`s.
fn additive(task: &Task, errors: &mut Errors) {
    for port in &task.options.additive {
        if !task.ports.iter().any(|p| p.kind == PortKind::In && p.name == *port) {
            let ins = task.ports.iter().filter(|p| p.kind == PortKind::In).map(|p| p.name.to_string()).collect::<Vec<_>>();
            let hint = closest(&port.to_string(), ins.iter().map(String::as_str));
            let hint = hint.map_or(String::new(), |near| format!("\nhelp: did you mean `{near}`?"));
            errors.syntax(port.span(), format!("`additive({port})`: there is no `In` of this name{hint}"));
        }
    }
}

/// A state has a type of its own: nothing that the model gives binds it.
fn elements(task: &Task, errors: &mut Errors) {
    for port in &task.ports {
        if let (PortKind::State { .. }, Some(ElemSpec::Var(var))) = (port.kind, &port.elem) {
            errors.syntax(var.span(), format!("the element type of a state is one of {}", Elem::names()));
        }
    }
}

/// How the work is cut.
fn cut(task: &Task, errors: &mut Errors) {
    if task.options.tiles.is_none() && task.options.grid.is_none() {
        let what = "a task says how it is cut: `tiles = N / 16` for tiles of 16 features, `tiles = T` for rows, or `grid` for one instance on each worker";
        errors.syntax(task.name.span(), what);
    }
}

fn gives(task: &Task, errors: &mut Errors) {
    if !task.ports.iter().any(|port| port.kind == PortKind::Out) {
        errors.syntax(task.name.span(), "a task gives something: it has an `Out` port");
    }
}

fn tokens(task: &Task, errors: &mut Errors) {
    match task.options.tokens {
        Some((0, span)) => errors.syntax(span, "a task takes at least one token"),
        Some((tokens, span)) if tokens > TOKENS => {
            errors.report(span, Problem::new(Code::E0141, format!("a task of {tokens} tokens: at most {TOKENS} are computed")));
        }
        _ => {}
    }
}

/// Scratch regions: alignment and size.
fn shared_memory(task: &Task, errors: &mut Errors) {
    let bodies = || task.bodies.iter().map(|body| &body.text.text);
    let bulk = bodies().any(|text| cpp::mentions(text, &["wgmma", "cp.async.bulk", "cp_async_bulk"]));
    let pages = bodies().any(|text| !cpp::streams(text).is_empty());
    match task.options.align {
        Some((align, span)) if !align.is_power_of_two() => {
            errors.report(span, Problem::new(Code::E0131, format!("an alignment of {align} is no power of two")));
        }
        Some((align, span)) if align > BULK => {
            let what = format!("an alignment of {align}: {BULK} is the largest");
            errors.report(span, Problem::new(Code::E0131, what).help(format!("write `align = {BULK}`")));
        }
        Some((align, span)) if align < BULK && (bulk || pages) => {
            let what = format!("an alignment of {align} in a task that reads pages, or by bulk copies or wgmma");
            errors.report(span, Problem::new(Code::E0131, what).help(format!("write `align = {BULK}`")));
        }
        None if bulk => {
            if let Some(region) = task.options.scratch.first() {
                let what = format!("region `{}` has no alignment in a task that reads by bulk copies or wgmma", region.name);
                errors
                    .report(region.name.span(), Problem::new(Code::E0131, what).help(format!("write `smem(…, align = {BULK})`")));
            }
        }
        _ => {}
    }
    let align = task.options.align.map_or(ALIGN, |(align, _)| align.clamp(1, BULK));
    let mut total = 0usize;
    for region in &task.options.scratch {
        total = total.div_ceil(align) * align;
        total = total.saturating_add(region.len.saturating_mul(region.elem.size()));
        if total > BUDGET {
            let what = format!("scratch regions of {total} bytes up to `{}`, the budget is {BUDGET}", region.name);
            errors.report(region.name.span(), Problem::new(Code::E0132, what));
            break;
        }
    }
}

/// Grid-wide tasks say so, and take their index.
fn grid(task: &Task, errors: &mut Errors) {
    let offset = task.ports.iter().find(|port| port.kind == PortKind::TaskOffset);
    match (task.options.grid, offset) {
        (Some(span), None) => {
            errors.report(
                span,
                Problem::new(Code::E0120, "a grid-wide task without its index").help("add a port `at: TaskOffset`"),
            );
        }
        (None, Some(port)) => {
            let problem = Problem::new(Code::E0120, format!("`{}: TaskOffset` in a task that is not grid-wide", port.name))
                .help("declare `grid` in `#[mpk_task(…)]`, or leave the port out");
            errors.report(port.name.span(), problem);
        }
        _ => {}
    }
}

/// What runs at step 0 only does not follow what changes with every step.
fn once(task: &Task, errors: &mut Errors) {
    let Some(span) = task.options.once else { return };
    let changing = |port: &&Port| matches!(port.kind, PortKind::In | PortKind::Rows);
    if let Some(port) = task.ports.iter().find(changing) {
        let problem = Problem::new(Code::E0121, format!("`{}` is read by a task that runs at step 0 only", port.name))
            .gpu("what it wrote at step 0 would stand for the values of all later steps")
            .help("leave the port out: such a task writes what its parameters say");
        errors.report(port.name.span(), problem);
    }
    if task.options.grid.is_some() {
        errors.syntax(span, "a task that runs once is not grid-wide\nhelp: declare one of `once` and `grid`");
    }
}

fn reference(task: &Task, errors: &mut Errors) {
    match &task.reference {
        None if task.lost => {}
        None => {
            let what =
                format!("`{}` has no reference, by which it is tested\nhelp: add `reference! {{ /* Rust */ }}`", task.name);
            errors.syntax(task.name.span(), what);
        }
        Some(reference) if reference.phases.len() > 1 && task.options.grid.is_none() => {
            errors.syntax(reference.span, "only a grid-wide task has phases\nhelp: write one block, or declare `grid`");
        }
        _ => {}
    }
}
