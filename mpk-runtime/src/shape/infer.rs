//! Binding the arguments of an op to the ports of its tasks: shapes (MPK-E0140) and placements (MPK-E0150, E0152).

use super::args::{Arg, Args, Shard, find};
use super::bindings::Bindings;
use super::dim::Dim;
use super::edge::{Edge, Elem, Parts, Place};
use super::messages::{begin, begin_edge, mismatch, missing, too_many, wrong_kind};
use super::place::{Judged, judge_place, judge_row, mixed, partial_bf16};
use super::signature::{ElemSpec, PortKind, Signature};
use super::text::{Text, same};
use crate::task::OpDef;

/// Values that an op may give.
const OUTS: usize = 4;

/// What is known of an op after binding its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Inference {
    /// The values it gives, one per `Out` of its last task.
    pub outs: [Edge; OUTS],
    /// How many there are.
    pub len: usize,
    /// The symbols of its last task.
    pub bindings: Bindings,
    /// Whether the chained value, if there is one, found a port.
    pub taken: bool,
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
    let mut result = Inference { outs: [Edge::UNKNOWN; OUTS], len: 1, bindings: Bindings::NEW, taken: true, error: None };
    let mut weight_taken = false;
    let mut taken = true;
    while i < op.stages.len() {
        let signature = &op.stages[i].signature;
        let last = i + 1 == op.stages.len();
        result = infer_task(signature, &stage_args, last, weight_taken, result.bindings);
        weight_taken = weight_taken || has_weight(signature);
        if error.is_none() {
            error = result.error;
        }
        // The tasks after the first take what flows within the op.
        if i == 0 {
            taken = result.taken;
        }
        stage_args.from = signature.name;
        stage_args.chained = Some(result.out());
        i += 1;
    }
    result.taken = taken;
    result.error = error;
    result
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
    let mut done = Inference { outs: [Edge::UNKNOWN; OUTS], len: 0, bindings: Bindings::NEW, taken: true, error: None };
    if sig.broken {
        done.len = OUTS;
        return done;
    }
    let mut b = before.symbols();
    // Parameters and weights first: they are what the model author writes, so a mismatch is reported at the edge.
    let mut p = 0;
    while p < sig.ports.len() {
        let port = &sig.ports[p];
        if let PortKind::State { .. } = port.kind
            && !matches!(find(args.named, port.name), None | Some(Arg::Edge(..)))
        {
            done = done.failed(wrong_kind(sig, port, "a value that is written once"));
        }
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
    let mut wrong_weight = false;
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
                        wrong_weight = true;
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
                                wrong_weight = true;
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
    // Set by an error after which nothing can be said of what the op gives, or of its shape.
    let mut hidden = false;
    let mut shapeless = wrong_weight;
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
                    shapeless = true;
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
                    shapeless = true;
                    done = done.failed(mismatch(sig, port, from, edge.parts, b.parts(&port.shape[1]), " features"));
                }
                b = next;
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
            }
        }
        p += 1;
    }
    if let Shard::Row = args.shard
        && let Some(error) = judge_row(sig)
    {
        done = done.failed(error);
    }
    done.taken = chained.is_none();
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
            let mut out = Edge { rows: b.eval(&port.shape[0]), parts: b.parts(&port.shape[1]), elem, place };
            if let (Place::Partial, Some(Elem::Bf16), None) = (place, elem, &done.error) {
                done = done.failed(partial_bf16(sig, port));
                // As it will be.
                out.elem = Some(Elem::F32);
            }
            // What an error hides matches everything, so that no second one follows.
            if shapeless {
                (out.rows, out.parts) = (Dim::OPAQUE, Parts::one(Dim::OPAQUE));
            }
            if hidden {
                out.elem = None;
            }
            done.outs[done.len] = out;
            done.len += 1;
        }
        p += 1;
    }
    if b.is_full() {
        done = done.failed(too_many(sig));
    }
    done.bindings = b;
    done
}
