//! What the symbols of a task stand for, and how many there may be: MPK-E0140.

use proc_macro2::Ident;

use super::model::{PortKind, Task};
use super::names::variables;
use super::shape::Shape;
use crate::errors::{Code, Errors, Problem};

/// Values that a task may give.
const OUTS: usize = 4;
/// Symbols and parameters of a task.
const SYMBOLS: usize = 16;
/// Element types that the model binds.
const VARIABLES: usize = 4;
/// Ports that a wait can tell apart.
const WAITED: usize = 16;

/// Reports symbols that nothing binds, and more of anything than the plan can hold.
pub fn check(task: &Task, errors: &mut Errors) {
    unbound(task, errors);
    rows(task, errors);
    limits(task, errors);
}

/// The rows of a value are those of the step, `T`, and stand before its features.
fn rows(task: &Task, errors: &mut Errors) {
    for port in task.ports.iter().filter(|port| matches!(port.kind, PortKind::In | PortKind::Out)) {
        let has_rows = |shape: &Shape| {
            let mut symbols = Vec::new();
            shape.symbols(&mut symbols);
            symbols.iter().any(|symbol| symbol == "T")
        };
        let name = &port.name;
        let what = match port.shape.as_slice() {
            [_, features] if has_rows(features) => format!("the features of `{name}` depend on `T`, the rows of the step"),
            [rows, _] if port.kind == PortKind::Out && !has_rows(rows) => {
                format!("the rows of `{name}` are not those of the step, `T`, nor a multiple of them")
            }
            _ => continue,
        };
        errors.report(name.span(), Problem::new(Code::E0140, what).help("write the rows first, `(T, N)`"));
    }
}

/// Every symbol has to get its value from what the model gives, or shapes with it would not be compared at all.
fn unbound(task: &Task, errors: &mut Errors) {
    let mut bound: Vec<String> = vec!["T".into()];
    for port in &task.ports {
        match port.kind {
            PortKind::In | PortKind::Weight => port.shape.iter().for_each(|dim| alone(dim, &mut bound)),
            PortKind::Param(_) => bound.push(port.name.to_string()),
            _ => {}
        }
    }
    let symbols = task.symbols();
    for name in &task.options.inherits {
        if !symbols.contains(name) || bound.contains(&name.to_string()) {
            let why = if symbols.contains(name) { "is bound by a port" } else { "stands in no shape" };
            errors.syntax(name.span(), format!("`inherits({name})`: `{name}` {why}\nhelp: leave it out"));
        }
        bound.push(name.to_string());
    }
    // A symbol that is another kind of port is reported as such.
    let known = |name: String| bound.contains(&name) || task.port(&name).is_some();
    for symbol in symbols.iter().filter(|symbol| !known(symbol.to_string())) {
        // The positions of the cache are the plan's, where nothing else is meant by the name.
        let elsewhere = task.symbols_but(|port| matches!(port.kind, PortKind::State { .. }));
        if *symbol == "P" && !elsewhere.contains(symbol) {
            continue;
        }
        let help = format!(
            "let `{symbol}` stand by itself in the shape of an `In` or a `Weight`, or make it a port `{symbol}: Param<u32>`; \
             `inherits({symbol})` if the task before it in an `op!` has it"
        );
        let problem = Problem::new(Code::E0140, format!("nothing gives `{symbol}` a value")).help(help);
        errors.report(symbol.span(), problem);
    }
}

/// Adds the symbols that a value of this shape binds: those that are one of its parts.
fn alone(shape: &Shape, bound: &mut Vec<String>) {
    match shape {
        Shape::Sym(name) => bound.push(name.to_string()),
        Shape::Add(a, b) => {
            alone(a, bound);
            alone(b, bound);
        }
        // `2 * I` is two parts.
        Shape::Mul(n, inner) => {
            if let (Shape::Num(2..=4), Shape::Sym(name)) = (&**n, &**inner) {
                bound.push(name.to_string());
            }
        }
        Shape::Num(_) | Shape::Div(..) | Shape::DivCeil(..) => {}
    }
}

fn limits(task: &Task, errors: &mut Errors) {
    let mut too_many = |at: Option<&Ident>, what: &str, most: usize| {
        if let Some(at) = at {
            let problem = Problem::new(Code::E0140, format!("`{at}`: a task has at most {most} {what}"))
                .gpu("those beyond would not be known to the plan, and their shapes not compared")
                .help("make two tasks of it, or a composite of them with `op!`");
            errors.report(at.span(), problem);
        }
    };
    let outs = task.ports.iter().filter(|port| port.kind == PortKind::Out);
    too_many(outs.map(|port| &port.name).nth(OUTS), "`Out` ports", OUTS);
    too_many(variables(task).into_iter().nth(VARIABLES), "element types that are bound by the model", VARIABLES);
    let mut symbols = task.symbols();
    let parameters = task.ports.iter().filter(|port| matches!(port.kind, PortKind::Param(_)));
    for port in parameters {
        if !symbols.contains(&port.name) {
            symbols.push(port.name.clone());
        }
    }
    too_many(symbols.iter().filter(|symbol| *symbol != "T").nth(SYMBOLS - 1), "symbols and parameters beside `T`", SYMBOLS - 1);
    if let Some(port) = task.ports.iter().skip(WAITED).find(|port| port.kind == PortKind::In) {
        let problem = Problem::new(Code::E0102, format!("`{}` is an `In` after {WAITED} other ports", port.name))
            .gpu("a wait tells the first 16 ports apart: this one would never be waited for")
            .help("let the `In`s stand first in the signature");
        errors.report(port.name.span(), problem);
    }
}
