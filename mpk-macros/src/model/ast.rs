//! What a `model!` says, as it is written.

use proc_macro2::Span;
use syn::{Attribute, Expr, Ident, LitStr, Pat, Path, Type, Visibility};

/// `pub model Name(cfg: Config) { dims { … } statements }`.
pub struct Model {
    pub attrs: Vec<Attribute>,
    pub vis: Visibility,
    pub name: Ident,
    pub cfg: Ident,
    pub config: Type,
    pub dims: Vec<DimDef>,
    /// Whether all of `dims` could be read, so that a name that is not there is none.
    pub all_dims: bool,
    /// Names of values whose `let` can't be read: their uses are no errors of their own.
    pub lost: Vec<Ident>,
    pub body: Block,
}

/// `Q = num_attention_heads * head_dim`.
pub struct DimDef {
    pub name: Ident,
    pub value: Poly,
}

/// A dimension: numbers and names under `+` and `*`.
#[derive(Clone)]
pub enum Poly {
    Num(i64),
    Name(Ident),
    Add(Box<Poly>, Box<Poly>),
    Mul(Box<Poly>, Box<Poly>),
}

/// Statements in braces.
pub struct Block {
    pub stmts: Vec<Stmt>,
}

/// A statement.
pub enum Stmt {
    /// A chain: its value flows on to the next statement.
    Chain(Chain),
    /// `let a = chain;`: names the value, which does not flow on.
    Let(Let),
    /// `layer path[i in 0..n] { … }`.
    Layer(Layer),
    /// `extra "name";`.
    Extra(Vec<LitStr>),
}

/// `let a = chain;` or `let (a, b) = chain;`.
pub struct Let {
    pub names: Vec<Ident>,
    /// The names stand in parentheses: all outputs of the last op.
    pub tuple: bool,
    pub chain: Chain,
}

/// `layer path[i in range] { … }`.
pub struct Layer {
    pub keyword: Span,
    /// `model.layers`.
    pub path: String,
    pub index: Ident,
    pub start: Expr,
    pub end: Expr,
    pub body: Block,
}

/// `a + b -> step -> step`.
pub struct Chain {
    pub first: Item,
    /// What is added to the first, with the place of each `+`.
    pub added: Vec<(Span, Item)>,
    pub steps: Vec<Item>,
}

/// A step of a chain.
pub enum Item {
    /// An op, or, where it is one name without arguments, a named value.
    Op(Op),
    /// `residual { … }`.
    Residual(Span, Block),
    /// `if … { … } else { … }`.
    If(If),
    /// `match … { … }`.
    Match(Match),
    /// `( chain )`.
    Group(Box<Chain>),
}

/// `if cond { … } else …`.
pub struct If {
    pub keyword: Span,
    pub cond: Expr,
    pub then: Block,
    pub otherwise: Option<Otherwise>,
}

/// What follows `else`.
pub enum Otherwise {
    Block(Block),
    If(Box<If>),
}

/// `match on { pat if guard => { … } … }`.
pub struct Match {
    pub keyword: Span,
    pub on: Expr,
    pub arms: Vec<Arm>,
}

/// An arm of a `match`.
pub struct Arm {
    pub pat: Pat,
    pub guard: Option<Expr>,
    pub body: Block,
}

/// An op with its arguments.
pub struct Op {
    pub path: Path,
    /// The last name of the path: where errors point.
    pub name: Ident,
    /// Whether it has parentheses.
    pub called: bool,
    /// The weight without a name.
    pub weight: Option<Weight>,
    pub named: Vec<Named>,
    pub shard: Shard,
}

/// The word after `shard =`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shard {
    None,
    Column,
    Row,
}

/// `name = value`.
pub struct Named {
    pub name: Ident,
    pub value: Given,
}

/// What stands after `name =`.
pub enum Given {
    Weight(Weight),
    Expr(Box<Expr>),
}

/// A weight expression; shapes are those of the checkpoint.
pub enum Weight {
    Module {
        /// Relative to the layer, or to the expert.
        name: String,
        span: Span,
        shape: Option<Shape>,
    },
    /// `a.{b, c}`.
    Stack(Vec<Weight>),
    /// `base[0..count].each`.
    Experts {
        base: String,
        count: Poly,
        each: Box<Weight>,
    },
    Tied(Box<Weight>, Box<Weight>),
    Rows(Box<Weight>, Vec<Poly>),
    Absorb(Box<Weight>, Box<Weight>),
}

/// The extents of a tensor.
pub type Shape = Vec<Poly>;

impl Poly {
    /// Every name in it.
    pub fn names(&self) -> Vec<&Ident> {
        match self {
            Poly::Num(_) => Vec::new(),
            Poly::Name(name) => vec![name],
            Poly::Add(a, b) | Poly::Mul(a, b) => [a.names(), b.names()].concat(),
        }
    }
}

impl std::fmt::Display for Poly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Poly::Num(n) => write!(f, "{n}"),
            Poly::Name(name) => write!(f, "{name}"),
            Poly::Add(a, b) => write!(f, "{a} + {b}"),
            Poly::Mul(a, b) => {
                let factor = |p: &Poly| if matches!(p, Poly::Add(..)) { format!("({p})") } else { p.to_string() };
                write!(f, "{} * {}", factor(a), factor(b))
            }
        }
    }
}

impl Weight {
    /// Gives `shape` to the modules that have none of their own.
    pub fn give_shape(&mut self, shape: &Shape) {
        match self {
            Weight::Module { shape: own, .. } => {
                own.get_or_insert_with(|| shape.clone());
            }
            Weight::Stack(members) => members.iter_mut().for_each(|m| m.give_shape(shape)),
            Weight::Experts { each, .. } => each.give_shape(shape),
            Weight::Tied(a, b) => {
                a.give_shape(shape);
                b.give_shape(shape);
            }
            Weight::Rows(of, _) => of.give_shape(shape),
            // Two factors can't have one shape: each gives its own.
            Weight::Absorb(..) => {}
        }
    }

    /// The modules it is made of.
    pub fn modules(&self) -> Vec<(&str, Span, Option<&Shape>)> {
        match self {
            Weight::Module { name, span, shape } => vec![(name.as_str(), *span, shape.as_ref())],
            Weight::Stack(members) => members.iter().flat_map(Weight::modules).collect(),
            Weight::Experts { each, .. } => each.modules(),
            Weight::Tied(a, b) | Weight::Absorb(a, b) => [a.modules(), b.modules()].concat(),
            Weight::Rows(of, _) => of.modules(),
        }
    }

    /// What stands for one another: the two of each `tied`.
    pub fn ties(&self) -> Vec<(&Weight, &Weight)> {
        match self {
            Weight::Module { .. } => Vec::new(),
            Weight::Stack(members) => members.iter().flat_map(Weight::ties).collect(),
            Weight::Experts { each: of, .. } | Weight::Rows(of, _) => of.ties(),
            Weight::Tied(a, b) => [vec![(&**a, &**b)], a.ties(), b.ties()].concat(),
            Weight::Absorb(a, b) => [a.ties(), b.ties()].concat(),
        }
    }

    /// The dimensions that stand outside of shapes: counts of experts and rows.
    pub fn counts(&self) -> Vec<&Poly> {
        match self {
            Weight::Module { .. } => Vec::new(),
            Weight::Stack(members) => members.iter().flat_map(Weight::counts).collect(),
            Weight::Experts { count, each, .. } => [vec![count], each.counts()].concat(),
            Weight::Tied(a, b) | Weight::Absorb(a, b) => [a.counts(), b.counts()].concat(),
            Weight::Rows(of, rows) => [of.counts(), rows.iter().collect()].concat(),
        }
    }
}
