//! The symbols of a task and what they are bound to.

use super::dim::Dim;
use super::edge::{Elem, Parts};
use super::signature::{ElemSpec, Expr, PortKind, Signature};
use super::text::same;

/// The values of a task's symbols and element variables.
#[derive(Clone, Copy, Debug)]
pub struct Bindings {
    names: [&'static str; Bindings::SYMBOLS],
    parts: [Parts; Bindings::SYMBOLS],
    len: usize,
    vars: [&'static str; Bindings::VARS],
    elems: [Elem; Bindings::VARS],
    elem_len: usize,
    /// Whether something found no room.
    full: bool,
}

impl Bindings {
    /// Symbols that a task may have, with those of the tasks before it in a composite.
    pub const SYMBOLS: usize = 16;
    /// Element variables that a task may have.
    pub const VARS: usize = 4;

    /// Nothing bound.
    pub const NEW: Bindings = Bindings {
        names: [""; Bindings::SYMBOLS],
        parts: [Parts::NONE; Bindings::SYMBOLS],
        len: 0,
        vars: [""; Bindings::VARS],
        elems: [Elem::Bf16; Bindings::VARS],
        elem_len: 0,
        full: false,
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

    /// Whether a symbol or an element variable found no room: then not all are bound.
    pub const fn is_full(&self) -> bool {
        self.full
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

    pub(super) const fn bind(mut self, name: &'static str, parts: Parts) -> Bindings {
        if self.len == Self::SYMBOLS {
            self.full = true;
            return self;
        }
        self.names[self.len] = name;
        self.parts[self.len] = parts;
        self.len += 1;
        self
    }

    /// Symbols bound to numbers.
    pub fn of(values: &[(&'static str, usize)]) -> Bindings {
        values.iter().fold(Bindings::NEW, |b, (name, value)| b.bind(name, Parts::one(Dim::num(*value as i64))))
    }

    /// The symbols, without the element variables: what the next task of a composite starts from.
    pub(super) const fn symbols(mut self) -> Bindings {
        self.elem_len = 0;
        self
    }

    pub(super) const fn bind_elem(mut self, var: &'static str, elem: Elem) -> Bindings {
        if self.elem_len == Self::VARS {
            self.full = true;
            return self;
        }
        self.vars[self.elem_len] = var;
        self.elems[self.elem_len] = elem;
        self.elem_len += 1;
        self
    }

    /// The parts of a shape expression: `Q + KV + KV` and `2 * I` are several.
    pub(super) const fn parts(&self, expr: &Expr) -> Parts {
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
    pub(super) const fn unify(self, expr: &Expr, actual: Parts) -> (Bindings, bool) {
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
