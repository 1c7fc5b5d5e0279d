//! Binding the arguments of an op to the ports of its tasks: shapes (MPK-E0140) and placements (MPK-E0150, E0152).

use super::dim::Dim;
use super::edge::{Edge, Elem, Parts, Place};
use super::signature::{Collective, ElemSpec, Expr, Port, PortKind, Signature};
use super::text::{Text, same};
use crate::task::OpDef;

/// How the weights of an op are split over the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shard {
    /// Every rank has all of them.
    None,
    /// By output features: the output is sharded.
    Column,
    /// By input features: the output is partial.
    Row,
}

/// An argument by name.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The port it is for; empty for the weight written without a name, which goes to the first `Weight` port left.
    pub port: &'a str,
    /// What is given.
    pub arg: Arg<'a>,
}

/// What a model gives to a port.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    /// A value, and the op that made it.
    Edge(&'a str, Edge),
    /// A weight by its shape; the parts of each dimension are those of the stack.
    Weight(&'a [&'a [Dim]]),
    /// A parameter; its value by symbol where it is a plain config field.
    Param(Dim),
    /// The element type of an `Out`.
    Elem(Elem),
}

/// The arguments of one op in a model.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a> {
    /// The op that made the chained value, for messages.
    pub from: &'a str,
    /// The value that flows in by `->`; it binds to the first `In`.
    pub chained: Option<Edge>,
    /// All others.
    pub named: &'a [Named<'a>],
    /// The split of the weights.
    pub shard: Shard,
}

const SYMBOLS: usize = 16;
const OUTS: usize = 4;

/// The values of a task's symbols and element variables.
#[derive(Clone, Copy, Debug)]
pub struct Bindings {
    names: [&'static str; SYMBOLS],
    parts: [Parts; SYMBOLS],
    len: usize,
    vars: [&'static str; 4],
    elems: [Elem; 4],
    elem_len: usize,
}

impl Bindings {
    /// Nothing bound.
    pub const NEW: Bindings = Bindings {
        names: [""; SYMBOLS],
        parts: [Parts::NONE; SYMBOLS],
        len: 0,
        vars: [""; 4],
        elems: [Elem::Bf16; 4],
        elem_len: 0,
    };

    /// The parts that the symbol `name` is bound to.
    pub const fn get(&self, name: &str) -> Option<Parts> {
        let mut i = 0;
        while i < self.len {
            if same(self.names[i], name) {
                return Some(self.parts[i]);
            }
            i += 1;
        }
        None
    }

    /// Every bound symbol.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Parts)> + '_ {
        (0..self.len).map(|i| (self.names[i], self.parts[i]))
    }

    /// The element type of a port under these bindings, if it is known.
    pub const fn elem(&self, spec: ElemSpec) -> Option<Elem> {
        match spec {
            ElemSpec::Is(elem) => Some(elem),
            ElemSpec::Var(var) => {
                let mut i = 0;
                while i < self.elem_len {
                    if same(self.vars[i], var) {
                        return Some(self.elems[i]);
                    }
                    i += 1;
                }
                None
            }
        }
    }

    /// The value of an expression; opaque if a symbol of it is not bound or a division is not exact.
    pub const fn eval(&self, expr: &Expr) -> Dim {
        match expr {
            Expr::Num(n) => Dim::num(*n),
            Expr::Sym(name) => match self.get(name) {
                Some(parts) => parts.total(),
                None => Dim::OPAQUE,
            },
            Expr::Add(a, b) => self.eval(a).add(self.eval(b)),
            Expr::Mul(a, b) => self.eval(a).mul(self.eval(b)),
            Expr::Div(a, b) => match self.eval(a).div(self.eval(b)) {
                Some(quotient) => quotient,
                None => Dim::OPAQUE,
            },
            Expr::DivCeil(a, b) => self.eval(a).div_ceil(self.eval(b)),
        }
    }

    const fn bind(mut self, name: &'static str, parts: Parts) -> Bindings {
        if self.len < SYMBOLS {
            self.names[self.len] = name;
            self.parts[self.len] = parts;
            self.len += 1;
        }
        self
    }

    /// Symbols bound to numbers.
    pub fn of(values: &[(&'static str, usize)]) -> Bindings {
        values.iter().fold(Bindings::NEW, |b, (name, value)| b.bind(name, Parts::one(Dim::num(*value as i64))))
    }

    /// The symbols, without the element variables: what the next task of a composite starts from.
    const fn symbols(mut self) -> Bindings {
        self.elem_len = 0;
        self
    }

    const fn bind_elem(mut self, var: &'static str, elem: Elem) -> Bindings {
        if self.elem_len < self.vars.len() {
            self.vars[self.elem_len] = var;
            self.elems[self.elem_len] = elem;
            self.elem_len += 1;
        }
        self
    }

    /// The parts of a shape expression: `Q + KV + KV` and `2 * I` are several.
    const fn parts(&self, expr: &Expr) -> Parts {
        match expr {
            Expr::Sym(name) => match self.get(name) {
                Some(parts) => parts,
                None => Parts::one(Dim::OPAQUE),
            },
            Expr::Add(a, b) => {
                let (mut parts, more) = (self.parts(a), self.parts(b));
                let mut i = 0;
                while i < more.len() {
                    parts = parts.push(more.get(i));
                    i += 1;
                }
                parts
            }
            Expr::Mul(Expr::Num(n), Expr::Sym(name)) if *n > 1 && *n <= Parts::MAX as i64 => {
                let dim = match self.get(name) {
                    Some(parts) => parts.total(),
                    None => Dim::OPAQUE,
                };
                let mut parts = Parts::NONE;
                let mut i = 0;
                while i < *n {
                    parts = parts.push(dim);
                    i += 1;
                }
                parts
            }
            _ => Parts::one(self.eval(expr)),
        }
    }

    /// Binds the symbols of `expr` so that it is `actual`, and says whether it is.
    const fn unify(self, expr: &Expr, actual: Parts) -> (Bindings, bool) {
        if let Expr::Sym(name) = expr
            && self.get(name).is_none()
        {
            return (self.bind(name, actual), true);
        }
        let count = parts_of(expr);
        if count == 1 {
            return self.unify_one(expr, actual.total());
        }
        if count != actual.len() {
            return (self, actual.len() == 1 && actual.get(0).is_opaque());
        }
        let mut bindings = self;
        let mut i = 0;
        while i < count {
            let (next, ok) = bindings.unify_one(part_of(expr, i), actual.get(i));
            if !ok {
                return (next, false);
            }
            bindings = next;
            i += 1;
        }
        (bindings, true)
    }

    const fn unify_one(self, expr: &Expr, actual: Dim) -> (Bindings, bool) {
        if let Expr::Sym(name) = expr
            && self.get(name).is_none()
        {
            return (self.bind(name, Parts::one(actual)), true);
        }
        (self, self.eval(expr).same(&actual))
    }
}

/// Whether an `In` or a `Weight` of the task binds the symbol `name` by itself.
pub fn binds(sig: &Signature, name: &str) -> bool {
    let inputs = sig.ports.iter().filter(|port| matches!(port.kind, PortKind::In | PortKind::Weight));
    inputs
        .flat_map(|port| port.shape)
        .any(|expr| (0..parts_of(expr)).any(|i| matches!(part_of(expr, i), Expr::Sym(s) if *s == name)))
}

/// How many parts a shape expression has.
const fn parts_of(expr: &Expr) -> usize {
    match expr {
        Expr::Add(a, b) => parts_of(a) + parts_of(b),
        Expr::Mul(Expr::Num(n), Expr::Sym(_)) if *n > 1 && *n <= Parts::MAX as i64 => *n as usize,
        _ => 1,
    }
}

/// Part `i` of a shape expression.
const fn part_of(expr: &Expr, i: usize) -> &Expr {
    match expr {
        Expr::Add(a, b) => {
            let left = parts_of(a);
            if i < left { part_of(a, i) } else { part_of(b, i - left) }
        }
        Expr::Mul(Expr::Num(n), inner) if *n > 1 && *n <= Parts::MAX as i64 => inner,
        _ => expr,
    }
}

/// Whether two expressions have a symbol in common.
const fn share_symbol(a: &Expr, b: &Expr) -> bool {
    match a {
        Expr::Num(_) => false,
        Expr::Sym(name) => mentions(b, name),
        Expr::Add(x, y) | Expr::Mul(x, y) | Expr::Div(x, y) | Expr::DivCeil(x, y) => share_symbol(x, b) || share_symbol(y, b),
    }
}

const fn mentions(expr: &Expr, name: &str) -> bool {
    match expr {
        Expr::Num(_) => false,
        Expr::Sym(sym) => same(sym, name),
        Expr::Add(x, y) | Expr::Mul(x, y) | Expr::Div(x, y) | Expr::DivCeil(x, y) => mentions(x, name) || mentions(y, name),
    }
}

/// What is known of an op after binding its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Inference {
    /// The values it gives, one per `Out` of its last task.
    pub outs: [Edge; OUTS],
    /// How many there are.
    pub len: usize,
    /// The symbols of its last task.
    pub bindings: Bindings,
    /// The first thing that is wrong.
    pub error: Option<Text>,
}

impl Inference {
    /// The value that flows on by `->`.
    pub const fn out(&self) -> Edge {
        self.nth(0)
    }

    /// Value `i` of those it gives.
    pub const fn nth(&self, i: usize) -> Edge {
        if i < self.len { self.outs[i] } else { Edge::UNKNOWN }
    }

    /// Fails const evaluation with the first error, at the caller.
    #[track_caller]
    pub const fn check(&self) {
        if let Some(error) = &self.error {
            panic!("{}", error.as_str());
        }
    }

    const fn failed(mut self, error: Text) -> Inference {
        if self.error.is_none() {
            self.error = Some(error);
        }
        self
    }
}

/// Binds `args` to all tasks of `op`. Total: after an error the outputs are as good as known.
pub const fn infer(op: &OpDef, args: &Args) -> Inference {
    let mut error = unknown_argument(op, args);
    let mut stage_args = *args;
    let mut i = 0;
    let mut result = Inference { outs: [Edge::UNKNOWN; OUTS], len: 1, bindings: Bindings::NEW, error: None };
    let mut weight_taken = false;
    while i < op.stages.len() {
        let signature = &op.stages[i].signature;
        let last = i + 1 == op.stages.len();
        result = infer_task(signature, &stage_args, last, weight_taken, result.bindings);
        weight_taken = weight_taken || has_weight(signature);
        if error.is_none() {
            error = result.error;
        }
        stage_args.from = signature.name;
        stage_args.chained = Some(result.out());
        i += 1;
    }
    result.error = error;
    result
}

/// Fails const evaluation with the first error of [`infer`], at the caller.
#[track_caller]
pub const fn check(op: &OpDef, args: &Args) {
    infer(op, args).check();
}

const fn has_weight(signature: &Signature) -> bool {
    let mut p = 0;
    while p < signature.ports.len() {
        if matches!(signature.ports[p].kind, PortKind::Weight) {
            return true;
        }
        p += 1;
    }
    false
}

/// The error for an argument that no task of the op has a port for.
const fn unknown_argument(op: &OpDef, args: &Args) -> Option<Text> {
    let mut a = 0;
    while a < args.named.len() {
        let name = args.named[a].port;
        let mut found = same(name, "");
        let mut s = 0;
        while s < op.stages.len() {
            let ports = op.stages[s].signature.ports;
            found = found || op.stages[s].signature.broken;
            let mut p = 0;
            while p < ports.len() {
                found = found || same(ports[p].name, name);
                p += 1;
            }
            s += 1;
        }
        if !found {
            return Some(
                Text::new()
                    .str("MPK-E0140: ")
                    .str(op.name)
                    .str(" has no port `")
                    .str(name)
                    .str("`\non the GPU the value would be dropped without a word\nhelp: name one of the ports in the signature of ")
                    .str(op.name),
            );
        }
        a += 1;
    }
    None
}

/// Binds the arguments to one task. The tasks of a composite share their symbols: `before` has those of the task before.
pub const fn infer_task(sig: &Signature, args: &Args, last: bool, weight_taken: bool, before: Bindings) -> Inference {
    let mut done = Inference { outs: [Edge::UNKNOWN; OUTS], len: 0, bindings: Bindings::NEW, error: None };
    if sig.broken {
        done.len = OUTS;
        return done;
    }
    let mut b = before.symbols();
    // Parameters and weights first: they are what the model author writes, so a mismatch is reported at the edge.
    let mut p = 0;
    while p < sig.ports.len() {
        let port = &sig.ports[p];
        if let PortKind::Param(_) = port.kind {
            match find(args.named, port.name) {
                Some(Arg::Param(_)) if b.get(port.name).is_some() => {}
                Some(Arg::Param(dim)) => b = b.bind(port.name, Parts::one(dim)),
                Some(_) => done = done.failed(wrong_kind(sig, port, "a parameter")),
                None if port.optional => {}
                None => done = done.failed(missing(sig, port)),
            }
        }
        p += 1;
    }
    let mut positional = weight_taken;
    let mut p = 0;
    while p < sig.ports.len() {
        let port = &sig.ports[p];
        if let PortKind::Weight = port.kind {
            let given = match find(args.named, port.name) {
                None if !positional && !port.optional => {
                    positional = true;
                    find(args.named, "")
                }
                given => given,
            };
            match given {
                Some(Arg::Weight(dims)) => {
                    if dims.len() != port.shape.len() {
                        done = done.failed(
                            begin(sig, port)
                                .str(" takes a weight of ")
                                .int(port.shape.len() as i64)
                                .str(" dimensions, the model gives one of ")
                                .int(dims.len() as i64)
                                .str("\non the GPU it would be read with the wrong stride\nhelp: write the shape as in the checkpoint"),
                        );
                    } else {
                        let mut d = 0;
                        while d < dims.len() {
                            let actual = Parts::of(dims[d]);
                            let (next, ok) = b.unify(&port.shape[d], actual);
                            if !ok {
                                let takes = b.eval(&port.shape[d]);
                                let text = takes.write(begin(sig, port).str(" takes "));
                                done = done.failed(
                                    actual
                                        .write(text.str(" there, the weight has "))
                                        .str("\non the GPU it would be read beyond its rows\nhelp: give the weight the shape that the other ports of the op imply"),
                                );
                            }
                            b = next;
                            d += 1;
                        }
                    }
                    if let ElemSpec::Var(var) = port.elem
                        && b.elem(port.elem).is_none()
                    {
                        b = b.bind_elem(var, Elem::Bf16);
                    }
                }
                Some(_) => done = done.failed(wrong_kind(sig, port, "a weight")),
                None if port.optional => {}
                None => done = done.failed(missing(sig, port)),
            }
        }
        p += 1;
    }
    // Then the values that flow in.
    let mut place = match args.shard {
        Shard::None => Place::Replicated,
        Shard::Column => Place::Sharded,
        Shard::Row => Place::Partial,
    };
    let mut additive: Option<(&str, Place)> = None;
    // Set by an error after which nothing can be said of what the op gives.
    let mut hidden = false;
    let mut chained = args.chained;
    let mut p = 0;
    while p < sig.ports.len() {
        let port = &sig.ports[p];
        if let PortKind::In = port.kind {
            let (from, edge) = match (find(args.named, port.name), chained) {
                (Some(Arg::Edge(from, edge)), _) => (from, Some(edge)),
                (Some(_), _) => {
                    done = done.failed(wrong_kind(sig, port, "a value"));
                    ("", None)
                }
                (None, Some(edge)) => {
                    chained = None;
                    (args.from, Some(edge))
                }
                (None, None) => {
                    if !port.optional {
                        done = done.failed(missing(sig, port));
                    }
                    ("", None)
                }
            };
            if let Some(edge) = edge {
                let (next, ok) = b.unify(&port.shape[0], Parts::one(edge.rows));
                if !ok {
                    done = done.failed(mismatch(
                        sig,
                        port,
                        from,
                        Parts::one(edge.rows),
                        Parts::one(b.eval(&port.shape[0])),
                        " rows",
                    ));
                }
                b = next;
                let (next, ok) = b.unify(&port.shape[1], edge.parts);
                if !ok {
                    done = done.failed(mismatch(sig, port, from, edge.parts, b.parts(&port.shape[1]), " features"));
                }
                b = next;
                match (b.elem(port.elem), edge.elem) {
                    (Some(takes), Some(gives)) if !takes.same(gives) => {
                        done = done.failed(
                            begin_edge(sig, from)
                                .str(gives.name())
                                .str(", ")
                                .str(sig.name)
                                .str(" takes ")
                                .str(takes.name())
                                .str(" as `")
                                .str(port.name)
                                .str("`\non the GPU the bits of one type would be read as the other\nhelp: choose the element type where the value is made, as in `y = f32`"),
                        );
                    }
                    (None, Some(gives)) => {
                        if let ElemSpec::Var(var) = port.elem {
                            b = b.bind_elem(var, gives);
                        }
                    }
                    _ => {}
                }
                match judge_place(sig, port, args.shard, edge.place, additive) {
                    // The place of a value that an earlier error hid is not known either.
                    _ if edge.is_unknown() => {}
                    Judged::Fine => {}
                    Judged::Additive => {
                        additive = Some((from, edge.place));
                        place = edge.place;
                    }
                    Judged::Keeps => place = edge.place,
                    Judged::Mixed(first, other) => {
                        hidden = true;
                        done = done.failed(mixed(sig, (first, other), (from, edge.place)));
                    }
                    Judged::Wrong(error) => done = done.failed(error.said_of(sig, from)),
                }
            }
        }
        p += 1;
    }
    if sig.collective.is_some() {
        place = Place::Replicated;
    }
    if b.get("T").is_none() {
        b = b.bind("T", Parts::one(Dim::field("tokens")));
    }
    // Last what it gives.
    let mut p = 0;
    while p < sig.ports.len() {
        let port = &sig.ports[p];
        if let PortKind::Out = port.kind
            && done.len < OUTS
        {
            let given = if last { find(args.named, port.name) } else { None };
            if let (ElemSpec::Var(var), None) = (port.elem, b.elem(port.elem)) {
                match given {
                    Some(Arg::Elem(elem)) => b = b.bind_elem(var, elem),
                    _ => b = b.bind_elem(var, Elem::Bf16),
                }
            }
            let elem = b.elem(port.elem);
            match (given, elem) {
                (Some(Arg::Elem(wanted)), Some(elem)) if !wanted.same(elem) => {
                    done = done.failed(
                        begin(sig, port)
                            .str(" gives ")
                            .str(elem.name())
                            .str(", and ")
                            .str(wanted.name())
                            .str(" is asked for\non the GPU the bits of one type would be read as the other\nhelp: leave the element type out; it is not free in ")
                            .str(sig.name),
                    );
                }
                (None | Some(Arg::Elem(_)), _) => {}
                _ => done = done.failed(wrong_kind(sig, port, "an element type")),
            }
            done.outs[done.len] = Edge {
                rows: b.eval(&port.shape[0]),
                parts: b.parts(&port.shape[1]),
                elem: if hidden { None } else { elem },
                place,
            };
            done.len += 1;
        }
        p += 1;
    }
    done.bindings = b;
    done
}

enum Judged<'a> {
    /// The placement of the output does not depend on this port.
    Fine,
    /// The task is linear in this port: the output is placed as it is.
    Additive,
    /// The task works on each share by itself: the output is sharded as the input is.
    Keeps,
    /// The other summand, and its placement, which is not that of this one.
    Mixed(&'a str, Place),
    Wrong(Wrong),
}

/// Two summands that are placed differently, each with the op that made it.
const fn mixed(sig: &Signature, a: (&str, Place), b: (&str, Place)) -> Text {
    let partial = a.1.same(Place::Partial) || b.1.same(Place::Partial);
    let text = Text::new().str(if partial { "MPK-E0152: " } else { "MPK-E0150: " });
    let text = text.str(sig.name).str(" takes a ").str(a.1.name()).str(" value of ").str(a.0);
    let text = text.str(" and a ").str(b.1.name()).str(" value of ").str(b.0);
    text.str(if partial {
        "\nwhat every rank has in full would be added once per rank\nhelp: put the collective before the sum, so that it is added once"
    } else {
        "\neach rank would add its share to features of another\nhelp: end the sharded stretch with `shard = row` and `all_reduce` first"
    })
}

enum Wrong {
    PartialTaken,
    NotPartial,
    NeedsReplicated,
    NeedsSharded,
    NeedsWhole,
}

/// Whether a value placed as `place` may go into `port`.
const fn judge_place<'a>(
    sig: &Signature,
    port: &Port,
    shard: Shard,
    place: Place,
    additive: Option<(&'a str, Place)>,
) -> Judged<'a> {
    if let Some(Collective::Sum) = sig.collective {
        return match place {
            Place::Partial => Judged::Fine,
            _ => Judged::Wrong(Wrong::NotPartial),
        };
    }
    let mut a = 0;
    while a < sig.additive.len() {
        if same(sig.additive[a], port.name) {
            return match additive {
                Some((from, other)) if !other.same(place) => Judged::Mixed(from, other),
                _ => Judged::Additive,
            };
        }
        a += 1;
    }
    if place.same(Place::Partial) {
        return Judged::Wrong(Wrong::PartialTaken);
    }
    if sig.collective.is_some() {
        return Judged::Fine;
    }
    match shard {
        Shard::Column => match place {
            Place::Replicated => Judged::Fine,
            // Head by head beside weights that are split alike.
            _ if share_symbol(&port.shape[1], &sig.tiles.axis) && !contracts(sig, port) => Judged::Fine,
            _ => Judged::Wrong(Wrong::NeedsReplicated),
        },
        Shard::Row => match (place, contracts(sig, port)) {
            (Place::Sharded, true) | (Place::Replicated, false) => Judged::Fine,
            (_, true) => Judged::Wrong(Wrong::NeedsSharded),
            (_, false) => Judged::Wrong(Wrong::NeedsReplicated),
        },
        Shard::None => match place {
            Place::Replicated => Judged::Fine,
            _ if share_symbol(&port.shape[1], &sig.tiles.axis) => Judged::Keeps,
            _ => Judged::Wrong(Wrong::NeedsWhole),
        },
    }
}

/// Whether the features of `port` are summed over against the last dimension of a weight.
const fn contracts(sig: &Signature, port: &Port) -> bool {
    let mut p = 0;
    while p < sig.ports.len() {
        let weight = &sig.ports[p];
        if matches!(weight.kind, PortKind::Weight)
            && weight.shape.len() >= 2
            && share_symbol(&weight.shape[weight.shape.len() - 1], &port.shape[1])
        {
            return true;
        }
        p += 1;
    }
    false
}

impl Wrong {
    const fn said_of(&self, sig: &Signature, from: &str) -> Text {
        let text = Text::new();
        match self {
            Wrong::PartialTaken => text
                .str("MPK-E0150: ")
                .str(from)
                .str(" gives a value that is partial over all ranks, ")
                .str(sig.name)
                .str(" takes a complete one\nwith more than one rank each would go on with its own summand: plausible text, and wrong\nhelp: write `-> all_reduce` between them"),
            Wrong::NotPartial => text
                .str("MPK-E0150: ")
                .str(from)
                .str(" gives a value that is not partial, ")
                .str(sig.name)
                .str(" would sum it once per rank\nthe result would be world-size times too large\nhelp: leave the collective out, or shard the op before it with `shard = row`"),
            Wrong::NeedsReplicated => text
                .str("MPK-E0150: ")
                .str(from)
                .str(" gives a sharded value, ")
                .str(sig.name)
                .str(" with this `shard` takes a replicated one\neach rank would compute with its own share only\nhelp: `shard = row` takes a sharded value"),
            Wrong::NeedsSharded => text
                .str("MPK-E0150: ")
                .str(from)
                .str(" gives a replicated value, ")
                .str(sig.name)
                .str(" with `shard = row` takes a sharded one\neach rank has only its columns of the weight and would read the wrong features\nhelp: shard the op before it with `shard = column`"),
            Wrong::NeedsWhole => text
                .str("MPK-E0150: ")
                .str(from)
                .str(" gives a sharded value, ")
                .str(sig.name)
                .str(" needs whole rows\neach rank would reduce over its own share only\nhelp: end the sharded stretch with `shard = row` and `all_reduce` first"),
        }
    }
}

const fn find<'a>(named: &'a [Named<'a>], port: &str) -> Option<Arg<'a>> {
    let mut i = 0;
    while i < named.len() {
        if same(named[i].port, port) {
            return Some(named[i].arg);
        }
        i += 1;
    }
    None
}

const fn begin(sig: &Signature, port: &Port) -> Text {
    Text::new().str("MPK-E0140: port `").str(port.name).str("` of ").str(sig.name)
}

const fn begin_edge(_: &Signature, from: &str) -> Text {
    Text::new().str("MPK-E0140: ").str(from).str(" gives ")
}

const fn mismatch(sig: &Signature, port: &Port, from: &str, gives: Parts, takes: Parts, what: &str) -> Text {
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
    takes
        .write(text.str(", ").str(sig.name).str(" takes "))
        .str(" as `")
        .str(port.name)
        .str("`\non the GPU the task would read beyond the rows, or other features than it means\nhelp: make the shapes of the two ops agree, by symbol")
}

const fn missing(sig: &Signature, port: &Port) -> Text {
    begin(sig, port)
        .str(" is not given\non the GPU it would be an address of nothing\nhelp: write ")
        .str(if matches!(port.kind, PortKind::Weight) { "`module.path: [N, K]` or `" } else { "`" })
        .str(port.name)
        .str(" = …` in the arguments of ")
        .str(sig.name)
}

const fn wrong_kind(sig: &Signature, port: &Port, takes: &str) -> Text {
    begin(sig, port)
        .str(" takes ")
        .str(takes)
        .str(", and is given something else\non the GPU other bytes would stand in its place\nhelp: see the signature of ")
        .str(sig.name)
}
