//! What can be said of a model without types: names, places of statements, conditions.

use proc_macro2::Span;
use syn::{Expr, Ident};

use super::ast::{Block, Chain, DimDef, Given, If, Item, Layer, Let, Match, Model, Op, Otherwise, Stmt, Weight};
use super::cond::{self, Known};
use crate::elem::Elem;
use crate::errors::{Code, Errors, Problem, closest};

/// Reports everything that is wrong with `model`.
pub fn check(model: &Model, errors: &mut Errors) {
    dims(&model.dims, errors);
    let whole = errors.is_empty();
    let values = model.lost.iter().map(|name| Value { name, used: true }).collect();
    let mut checker = Checker { model, errors, whole, index: None, values, unknown: Vec::new(), layers: 0, depth: 0 };
    if !checker.block(&model.body, false) {
        checker.no_value(model.name.span(), "a model without a value: its last statement gives what the model gives");
    }
}

fn dims(dims: &[DimDef], errors: &mut Errors) {
    for (at, dim) in dims.iter().enumerate() {
        if dims[..at].iter().any(|d| d.name == dim.name) {
            errors.syntax(dim.name.span(), format!("the dimension `{}` is defined twice", dim.name));
        }
        for name in dim.value.names() {
            if dims[at..].iter().any(|d| d.name == *name) {
                errors.syntax(name.span(), format!("the dimension `{name}` is used before it is defined"));
            }
        }
    }
}

/// What an argument that is no weight means.
pub enum Plain<'a> {
    /// Under the name `bias`: when the weight without a name has biases.
    Bias,
    /// A value named by `let`.
    Value(&'a Ident),
    /// A name of `dims`.
    Dim(&'a Ident),
    /// An element type.
    Elem(Elem),
    /// A Rust expression.
    Rust,
}

/// Reads the argument `expr` of the port `port` of an op, in a scope of values and dims.
pub fn plain<'a>(
    op: &Op,
    port: &Ident,
    expr: &'a Expr,
    is_value: impl Fn(&Ident) -> bool,
    is_dim: impl Fn(&Ident) -> bool,
) -> Plain<'a> {
    match lone_name(expr) {
        Some(name) if is_value(name) => return Plain::Value(name),
        Some(name) if is_dim(name) => return Plain::Dim(name),
        _ => {}
    }
    match lone_name(expr).and_then(|name| Elem::named(&name.to_string())) {
        Some(elem) => Plain::Elem(elem),
        None if port == "bias" && op.weight.is_some() => Plain::Bias,
        None => Plain::Rust,
    }
}

/// The name that an expression is, if it is nothing but a name.
fn lone_name(expr: &Expr) -> Option<&Ident> {
    if let Expr::Path(path) = expr { path.path.get_ident() } else { None }
}

/// A value named by `let`.
struct Value<'a> {
    name: &'a Ident,
    used: bool,
}

struct Checker<'a> {
    model: &'a Model,
    errors: &'a mut Errors,
    /// Whether all statements could be read, so that a missing value is really missing.
    whole: bool,
    /// The index of the layer around.
    index: Option<&'a Ident>,
    /// Named values in scope.
    values: Vec<Value<'a>>,
    /// Names of dimensions that are reported.
    unknown: Vec<String>,
    layers: usize,
    /// Blocks around.
    depth: usize,
}

impl<'a> Checker<'a> {
    /// Checks a block that begins with a value or not, and says whether it ends with one.
    fn block(&mut self, block: &'a Block, current: bool) -> bool {
        let scope = self.values.len();
        self.depth += 1;
        let mut current = current;
        // The last statement whose value nothing has taken yet.
        let mut idle: Option<&Chain> = None;
        for stmt in &block.stmts {
            match stmt {
                Stmt::Chain(chain) => {
                    if let (Some(idle), false) = (idle, self.takes_current(chain)) {
                        self.goes_nowhere(idle);
                    }
                    current = self.chain(chain, current);
                    idle = Some(chain);
                }
                Stmt::Let(stmt) => {
                    idle = idle.filter(|_| !self.takes_current(&stmt.chain));
                    self.let_(stmt, current);
                }
                Stmt::Layer(layer) => {
                    idle = None;
                    self.layer(layer, current);
                }
                Stmt::Extra(names) => {
                    for name in names.iter().filter(|n| n.value().is_empty()) {
                        self.errors.syntax(name.span(), "an empty name");
                    }
                }
            }
        }
        self.depth -= 1;
        for value in self.values.split_off(scope) {
            if !value.used && self.whole && !value.name.to_string().starts_with('_') {
                let name = value.name;
                self.errors.syntax(
                    name.span(),
                    format!(
                        "nothing uses the value `{name}`\non the GPU: its ops would run in every step, and what was to be added may be missing\n\
                         help: use it, take the statement out, or name it `_{name}`"
                    ),
                );
            }
        }
        current
    }

    /// Whether a chain begins with the value of the statement before.
    fn takes_current(&self, chain: &Chain) -> bool {
        let takes = |item: &Item| match item {
            Item::Op(op) => op.called || !op.path.get_ident().is_some_and(|name| self.values.iter().any(|v| v.name == name)),
            Item::Group(chain) => self.takes_current(chain),
            Item::Residual(..) | Item::If(_) | Item::Match(_) => true,
        };
        takes(&chain.first) || chain.added.iter().any(|(_, item)| takes(item))
    }

    fn goes_nowhere(&mut self, chain: &Chain) {
        let at = match chain.steps.last().unwrap_or(&chain.first) {
            Item::Op(op) => op.name.span(),
            Item::Residual(keyword, _) | Item::If(If { keyword, .. }) | Item::Match(Match { keyword, .. }) => *keyword,
            Item::Group(chain) => return self.goes_nowhere(chain),
        };
        self.no_value(
            at,
            "the value of this statement goes nowhere: the next one begins with another\n\
             on the GPU: its ops would run in every step, and what was to be added may be missing\n\
             help: name it with `let`, or take the statement out",
        );
    }

    fn layer(&mut self, layer: &'a Layer, current: bool) {
        self.layers += 1;
        if self.depth > 1 || self.layers > 1 {
            self.errors.syntax(
                layer.keyword,
                "a model has one `layer`, which stands at its top\n\
                 help: choose between kinds of layers with `if` on the config and the layer index",
            );
        }
        if !current {
            self.no_value(layer.keyword, "a layer needs a value to begin with\nhelp: write the embedding before it");
        }
        cond::check(&layer.start, &self.known(Vec::new()), self.errors);
        cond::check(&layer.end, &self.known(Vec::new()), self.errors);
        let around = self.index.replace(&layer.index);
        self.block(&layer.body, true);
        self.index = around;
    }

    fn let_(&mut self, stmt: &'a Let, current: bool) {
        self.chain(&stmt.chain, current);
        let last = stmt.chain.steps.last().unwrap_or(&stmt.chain.first);
        let op = matches!(last, Item::Op(op) if self.value_named(op).is_none());
        if stmt.tuple && (!op || (stmt.chain.steps.is_empty() && !stmt.chain.added.is_empty())) {
            let span = stmt.names.first().map_or(self.model.name.span(), Ident::span);
            self.errors.syntax(span, "several names need an op of several outputs at the end of the chain");
            return self.values.extend(stmt.names.iter().map(|name| Value { name, used: true }));
        }
        self.values.extend(stmt.names.iter().map(|name| Value { name, used: false }));
    }

    fn chain(&mut self, chain: &'a Chain, current: bool) -> bool {
        let mut value = self.item(&chain.first, current, true);
        for (_, item) in &chain.added {
            value &= self.item(item, current, true);
        }
        for step in &chain.steps {
            value = self.item(step, value, false);
        }
        value
    }

    /// Checks a step; the first of a chain may be a named value.
    fn item(&mut self, item: &'a Item, current: bool, first: bool) -> bool {
        match item {
            Item::Op(op) => {
                let value = self.value_named(op);
                if let (Some(value), false) = (value, first) {
                    self.errors.syntax(
                        op.name.span(),
                        format!(
                            "`{value}` is a value, and `->` leads into an op\nhelp: begin the chain with it, or give it by name"
                        ),
                    );
                }
                if value.is_none() {
                    self.op(op, first);
                }
                true
            }
            Item::Residual(keyword, block) => {
                if !current {
                    self.no_value(*keyword, "`residual` needs a value to add its block to");
                }
                self.must_work(*keyword, block);
                self.block(block, current)
            }
            Item::If(stmt) => self.if_(stmt, current),
            Item::Match(stmt) => self.match_(stmt, current),
            Item::Group(chain) => self.chain(chain, current),
        }
    }

    fn no_value(&mut self, at: Span, message: &str) {
        if self.whole {
            self.errors.syntax(at, message);
        }
    }

    /// A residual over a block without a chain would double the value.
    fn must_work(&mut self, keyword: Span, block: &Block) {
        if !block.stmts.iter().any(|s| matches!(s, Stmt::Chain(_))) {
            self.no_value(keyword, "the block of `residual` gives no value of its own\nhelp: end it with a chain of ops");
        }
    }

    fn if_(&mut self, stmt: &'a If, current: bool) -> bool {
        if let Some(span) = cond::binds(&stmt.cond) {
            self.errors.syntax(
                span,
                "`let` in a condition is not known here\nhelp: use `match`, or make the condition a method of the config",
            );
        } else {
            cond::check(&stmt.cond, &self.known(Vec::new()), self.errors);
        }
        let then = self.block(&stmt.then, current);
        let otherwise = match &stmt.otherwise {
            None => current,
            Some(Otherwise::Block(block)) => self.block(block, current),
            Some(Otherwise::If(stmt)) => self.if_(stmt, current),
        };
        self.all_give(stmt.keyword, then, otherwise)
    }

    fn match_(&mut self, stmt: &'a Match, current: bool) -> bool {
        cond::check(&stmt.on, &self.known(Vec::new()), self.errors);
        let mut all = true;
        for arm in &stmt.arms {
            cond::check_pattern(&arm.pat, self.errors);
            if let Some(guard) = &arm.guard {
                cond::check(guard, &self.known(cond::bindings(&arm.pat)), self.errors);
            }
            all &= self.block(&arm.body, current);
        }
        if stmt.arms.is_empty() {
            self.errors.syntax(stmt.keyword, "a `match` without an arm gives no value");
        }
        self.all_give(stmt.keyword, all, true)
    }

    fn all_give(&mut self, keyword: Span, one: bool, other: bool) -> bool {
        if !(one && other) {
            self.no_value(keyword, "each way must give a value: there is none before, and one way has no chain");
        }
        // Reported: what follows may count on it.
        true
    }

    fn op(&mut self, op: &'a Op, first: bool) {
        if first && !op.called {
            self.maybe_a_typo(op);
        }
        if let Some(weight) = &op.weight {
            self.weight(weight);
        }
        for named in &op.named {
            match &named.value {
                Given::Weight(weight) => self.weight(weight),
                Given::Expr(expr) => self.argument(op, &named.name, expr),
            }
        }
    }

    /// A lone name at the beginning of a chain that is nearly that of a value. Short names of ops are like many others.
    fn maybe_a_typo(&mut self, op: &Op) {
        let names = self.value_names();
        if let Some(near) = closest(&op.name.to_string(), names.iter().map(String::as_str))
            && op.path.get_ident().is_some_and(|name| name.to_string().len() > 3)
        {
            let name = &op.name;
            self.errors.syntax(
                name.span(),
                format!("no value is named `{name}`\nhelp: there is `{near}`; if an op is meant, write `{name}()`"),
            );
        }
    }

    fn argument(&mut self, op: &Op, port: &Ident, expr: &Expr) {
        let is_value = |name: &Ident| self.values.iter().any(|v| v.name == name);
        match plain(op, port, expr, is_value, |name| self.is_dim(name)) {
            Plain::Bias => return self.bias(op, expr),
            Plain::Value(name) => {
                self.use_value(name);
                return;
            }
            Plain::Dim(_) | Plain::Elem(_) => return,
            Plain::Rust => {}
        }
        if let Some(name) = lone_name(expr)
            && name.to_string().starts_with(char::is_lowercase)
            && !self.known(Vec::new()).has(name)
        {
            let names = self.value_names();
            let text = name.to_string();
            let what = match closest(&text, names.iter().map(String::as_str)) {
                Some(near) => format!("no value is named `{name}`\nhelp: there is `{near}`"),
                None if Elem::resembles(&text) => {
                    format!("`{name}` is no element type\nhelp: it is one of {}", Elem::names())
                }
                None => format!(
                    "no value is named `{name}`\nhelp: a field of the config is `{}.{name}`; a value is named first, `let {name} = …;`",
                    self.model.cfg
                ),
            };
            self.errors.syntax(name.span(), what);
        }
        self.maybe_a_weight(expr);
    }

    /// Reports `module.path`, which is a weight without its shape, and says whether it is one.
    fn maybe_a_weight(&mut self, expr: &Expr) -> bool {
        let mut root = expr;
        while let Expr::Field(field) = root {
            root = &field.base;
        }
        let (Expr::Field(field), Some(name)) = (expr, lone_name(root)) else { return false };
        if self.known(Vec::new()).has(name) || !name.to_string().starts_with(char::is_lowercase) {
            return false;
        }
        let span = if let syn::Member::Named(member) = &field.member { member.span() } else { name.span() };
        self.errors.syntax(span, "a weight needs its shape\nhelp: write it as in the checkpoint, `module.path: [N, K]`");
        true
    }

    fn bias(&mut self, op: &Op, expr: &Expr) {
        if self.maybe_a_weight(expr) {
            return;
        }
        cond::check(expr, &self.known(Vec::new()), self.errors);
        if !op.weight.as_ref().is_some_and(has_bias) {
            self.errors.syntax(
                op.name.span(),
                "`bias = <condition>` takes the biases of the weight without a name, and it has none\n\
                 help: name the tensor, `bias = module.bias: [N]`",
            );
        }
    }

    fn weight(&mut self, weight: &Weight) {
        for (name, span, shape) in weight.modules() {
            match shape {
                None if self.values.iter().any(|value| value.name == name) => {
                    let what = format!(
                        "`{name}` is a value, no weight\nhelp: begin the chain with it, `{name} -> …`, or give it by the name of its port, `r = {name}`"
                    );
                    self.errors.syntax(span, what);
                }
                None => self.errors.syntax(
                    span,
                    format!("the shape of `{name}` is not given\nhelp: write it as in the checkpoint, `{name}: [N, K]`"),
                ),
                Some(shape) if shape.is_empty() => self.errors.syntax(span, "a weight without dimensions"),
                Some(shape) => shape.iter().for_each(|dim| self.names_of(dim)),
            }
        }
        weight.counts().into_iter().for_each(|count| self.names_of(count));
        for (a, b) in weight.ties() {
            let (first, second) = (a.modules(), b.modules());
            if let (true, Some((_, span, _))) = (first.len() != second.len(), second.first()) {
                let what = format!(
                    "`tied` of {} modules and {}\non the GPU the rows of one would stand for those of another\n\
                     help: stack as many modules on both sides, each where its other half is",
                    first.len(),
                    second.len()
                );
                self.errors.syntax(*span, what);
            }
        }
    }

    fn names_of(&mut self, dim: &super::ast::Poly) {
        for name in dim.names() {
            // Each is said once.
            if self.is_dim(name) || !self.model.all_dims || self.unknown.contains(&name.to_string()) {
                continue;
            }
            self.unknown.push(name.to_string());
            let known: Vec<String> = self.model.dims.iter().map(|d| d.name.to_string()).collect();
            let help = match closest(&name.to_string(), known.iter().map(String::as_str)) {
                Some(near) => format!("there is `{near}`; a new one is defined in `dims {{ {name} = … }}`"),
                None => format!("define it in `dims {{ {name} = … }}`"),
            };
            self.errors.report(name.span(), Problem::new(Code::E0140, format!("no dimension is named `{name}`")).help(help));
        }
    }

    fn known(&self, bound: Vec<String>) -> Known<'a> {
        let dims = self.model.dims.iter().map(|d| &d.name).collect();
        Known { cfg: &self.model.cfg, index: self.index, dims, bound }
    }

    fn is_dim(&self, name: &Ident) -> bool {
        self.model.dims.iter().any(|d| d.name == *name)
    }

    /// The value that an op without arguments is the name of; it is then used.
    fn value_named(&mut self, op: &Op) -> Option<&'a Ident> {
        let name = op.path.get_ident().filter(|_| !op.called)?;
        self.use_value(name)
    }

    fn use_value(&mut self, name: &Ident) -> Option<&'a Ident> {
        let value = self.values.iter_mut().rev().find(|v| v.name == name)?;
        value.used = true;
        Some(value.name)
    }

    fn value_names(&self) -> Vec<String> {
        self.values.iter().map(|v| v.name.to_string()).collect()
    }
}

/// Whether the modules of a weight have one bias each that is stacked like it.
fn has_bias(weight: &Weight) -> bool {
    match weight {
        Weight::Module { .. } => true,
        Weight::Stack(members) => members.iter().all(has_bias),
        Weight::Tied(a, b) => has_bias(a) && has_bias(b),
        Weight::Rows(of, _) => has_bias(of),
        Weight::Experts { .. } | Weight::Absorb(..) => false,
    }
}
