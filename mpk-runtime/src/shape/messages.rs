//! The messages of ports that do not match (MPK-E0140).

use super::bindings::Bindings;
use super::edge::Parts;
use super::signature::{Expr, Port, PortKind, Signature};
use super::text::Text;

pub(super) const fn begin(sig: &Signature, port: &Port) -> Text {
    Text::new().str("MPK-E0140: port `").str(port.name).str("` of ").str(sig.name)
}

pub(super) const fn begin_edge(_: &Signature, from: &str) -> Text {
    Text::new().str("MPK-E0140: ").str(from).str(" gives ")
}

pub(super) const fn mismatch(sig: &Signature, port: &Port, from: &str, gives: Parts, takes: Parts, what: &str) -> Text {
    let text = gives.write(begin_edge(sig, from)).str(what);
    if gives.len() != takes.len() && takes.len() > 1 {
        return text
            .str(" in ")
            .int(gives.len() as i64)
            .str(if gives.len() == 1 { " part, " } else { " parts, " })
            .str(sig.name)
            .str(" takes ")
            .int(takes.len() as i64)
            .str(" parts as `")
            .str(port.name)
            .str("`\non the GPU each rank has its share of every part, and would read one part as another\nhelp: stack the weights, `module.{a: [N, K], b: [N, K]}`, or name the parts of one, `rows(module, N, N)`");
    }
    if takes.len() > 1 {
        let mut text = begin_edge(sig, from);
        let mut i = 0;
        while i < gives.len() {
            text = gives.get(i).write(text.str(if i > 0 { ", then " } else { "" }));
            i += 1;
        }
        let text = write(text.str(what).str(", ").str(sig.name).str(" takes the parts `"), &port.shape[1]);
        return text
            .str("` as `")
            .str(port.name)
            .str("`\non the GPU it would read one part as another\nhelp: stack the weights in the order of the parts, `module.{a: [N, K], b: [N, K]}`");
    }
    takes
        .write(text.str(", ").str(sig.name).str(" takes "))
        .str(" as `")
        .str(port.name)
        .str("`\non the GPU the task would read beyond the rows, or other features than it means\nhelp: make the shapes of the two ops agree, by symbol")
}

/// `text` followed by a shape as the signature writes it.
const fn write(text: Text, expr: &Expr) -> Text {
    match expr {
        Expr::Num(n) => text.int(*n),
        Expr::Sym(name) => text.str(name),
        Expr::Add(a, b) => write(write(text, a).str(" + "), b),
        Expr::Mul(a, b) => factor(factor(text, a).str(" * "), b),
        Expr::Div(a, b) => factor(factor(text, a).str(" / "), b),
        Expr::DivCeil(a, b) => write(factor(text, a).str(".div_ceil("), b).str(")"),
    }
}

const fn factor(text: Text, expr: &Expr) -> Text {
    match expr {
        Expr::Num(_) | Expr::Sym(_) => write(text, expr),
        _ => write(text.str("("), expr).str(")"),
    }
}

pub(super) const fn missing(sig: &Signature, port: &Port) -> Text {
    begin(sig, port)
        .str(" is not given\non the GPU it would be an address of nothing\nhelp: write ")
        .str(if matches!(port.kind, PortKind::Weight) { "`module.path: [N, K]` or `" } else { "`" })
        .str(port.name)
        .str(" = …` in the arguments of ")
        .str(sig.name)
}

pub(super) const fn wrong_kind(sig: &Signature, port: &Port, takes: &str) -> Text {
    begin(sig, port)
        .str(" takes ")
        .str(takes)
        .str(", and is given something else\non the GPU other bytes would stand in its place\nhelp: see the signature of ")
        .str(sig.name)
}

pub(super) const fn too_many(sig: &Signature) -> Text {
    Text::new()
        .str("MPK-E0140: ")
        .str(sig.name)
        .str(" has more than ")
        .int(Bindings::SYMBOLS as i64)
        .str(" symbols or ")
        .int(Bindings::VARS as i64)
        .str(" element variables\non the GPU the last of them would have no value\nhelp: write numbers and element types for some of them, or split the task")
}
