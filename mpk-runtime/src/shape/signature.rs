//! What `#[mpk_task]` says of a task: its ports, how it is cut into tiles, and how it behaves over ranks.

use super::edge::Elem;

/// A dimension as a signature writes it, over the task's own symbols.
#[derive(Clone, Copy, Debug)]
pub enum Expr {
    /// A number.
    Num(i64),
    /// A symbol: bound by the first port that names it alone.
    Sym(&'static str),
    /// `a + b`; at the top level of a shape, two parts.
    Add(&'static Expr, &'static Expr),
    /// `a * b`; `2 * I` at the top level of a shape is the parts `I, I`.
    Mul(&'static Expr, &'static Expr),
    /// `a / b`, exact.
    Div(&'static Expr, &'static Expr),
    /// `a.div_ceil(b)`.
    DivCeil(&'static Expr, &'static Expr),
}

impl Expr {
    /// The expression as it is written, with the values of the symbols that have one: `64 / 128`.
    pub fn with(&self, symbols: &[(&'static str, usize)]) -> String {
        let operand = |of: &Expr| match of {
            Expr::Num(_) | Expr::Sym(_) | Expr::DivCeil(..) => of.with(symbols),
            _ => format!("({})", of.with(symbols)),
        };
        match self {
            Expr::Num(n) => n.to_string(),
            Expr::Sym(name) => match symbols.iter().find(|(symbol, _)| symbol == name) {
                Some((_, value)) => value.to_string(),
                None => (*name).to_string(),
            },
            Expr::Add(a, b) => format!("{} + {}", a.with(symbols), b.with(symbols)),
            Expr::Mul(a, b) => format!("{} * {}", operand(a), operand(b)),
            Expr::Div(a, b) => format!("{} / {}", operand(a), operand(b)),
            Expr::DivCeil(a, b) => format!("{}.div_ceil({})", operand(a), b.with(symbols)),
        }
    }
}

/// The element type of a port: fixed, or a variable that the first port with it binds.
#[derive(Clone, Copy, Debug)]
pub enum ElemSpec {
    /// This type.
    Is(Elem),
    /// The type that the variable is bound to (`W`, `X`); of an `Out` it may be given by the model: `y = f32`.
    Var(&'static str),
}

/// The type of a constant parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamType {
    /// A 32-bit float.
    F32,
    /// A 32-bit unsigned integer; it may stand in shapes under its own name.
    U32,
    /// Rotary position embedding: an f32 table of cosines and sines made on the host.
    Rope,
}

/// What a port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortKind {
    /// Activations read: `(rows, features)`.
    In,
    /// Activations written: `(rows, features)`.
    Out,
    /// A weight: `(outputs, inputs)`, `(features)` or `(experts, outputs, inputs)`.
    Weight,
    /// Memory that lives across steps, one per layer.
    State {
        /// It only grows, and is initialised once, at step 0 (MPK-E0121).
        monotonic: bool,
    },
    /// The step's row table and page tables.
    Rows,
    /// A constant of the op, given in `model!`.
    Param(ParamType),
    /// The index of this instance of a grid-wide task, and the count of instances.
    TaskOffset,
}

/// One port of a task.
#[derive(Clone, Copy, Debug)]
pub struct Port {
    /// Its name, unique in the task.
    pub name: &'static str,
    /// What it is.
    pub kind: PortKind,
    /// Whether it may be left out (`Option<…>`).
    pub optional: bool,
    /// Its element type.
    pub elem: ElemSpec,
    /// Its shape over the task's symbols; empty for `Rows`, `Param` and `TaskOffset`.
    pub shape: &'static [Expr],
}

/// How an op is cut: `axis / width` tiles, rounded up; tile `i` owns the range `i * width ..` of the axis, and the same share of
/// the features (or, where the axis is the rows, of the rows) of every `Out`. A task is a run of tiles.
#[derive(Clone, Copy, Debug)]
pub struct Tiles {
    /// What is cut.
    pub axis: Expr,
    /// The extent of a tile on it.
    pub width: Expr,
}

/// What a collective does with the values of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    /// Sums a partial value in rank order; free on one rank.
    Sum,
    /// Reads the sharded value of every rank.
    Gather,
}

/// The signature of a task.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// The task's name.
    pub name: &'static str,
    /// Its ports, in the order of the Rust signature.
    pub ports: &'static [Port],
    /// How it is cut.
    pub tiles: Tiles,
    /// Set for a collective.
    pub collective: Option<Collective>,
    /// `In` ports in which the task is linear, so that partial values stay partial.
    pub additive: &'static [&'static str],
    /// Whether the task had errors of its own: it then accepts everything, so that no second error follows.
    pub broken: bool,
}
