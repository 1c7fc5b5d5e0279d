//! From the tree to Rust: the struct, the `Model` and the constants that check it.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

use super::ast::{Block, Chain, If, Item, Layer, Let, Match, Model, Otherwise, Stmt};
use super::op::Chained;
use super::poly::dim_const;
use crate::item;

/// Writes a model that has been checked; `None` if a chain has no value, which the check excludes.
pub fn expand(model: &Model) -> Option<TokenStream> {
    let mut expand = Expand { model, items: TokenStream::new(), count: 0, values: Vec::new(), index: None, last: None };
    expand.dims();
    let mut body = expand.build_dims();
    let end = expand.block(&model.body, None, &mut body)?;
    let (from, edge, var) = (&end.from, &end.edge, &end.var);
    let at = expand.last.unwrap_or_else(|| model.name.span());
    let finish = quote_spanned!(at=> ::mpk_runtime::shape::check_end(#from, &#edge));
    let items = &expand.items;
    let cfg = item::cfg(&model.attrs);
    let declared = declare(model);
    let builder = builder();
    let implemented = implement(model, &builder, quote!(#body ::core::result::Result::Ok(#var)));
    Some(quote! {
        #declared
        #cfg
        const _: () = {
            #items
            const _: () = #finish;
            #implemented
        };
    })
}

/// The type without its graph, after an error: what uses it finds it, and no second error follows.
pub fn stub(model: &Model) -> TokenStream {
    let declared = declare(model);
    let builder = builder();
    let name = model.name.to_string();
    let cfg = &model.cfg;
    let body = quote! {
        let _ = (#cfg, #builder);
        ::core::result::Result::Err(::mpk_runtime::graph::GraphError::Config {
            op: #name.into(),
            message: "the model did not compile".into(),
        })
    };
    let (implemented, cfg) = (implement(model, &builder, body), item::cfg(&model.attrs));
    quote!(#declared #cfg #implemented)
}

fn declare(model: &Model) -> TokenStream {
    let Model { attrs, vis, name, .. } = model;
    quote!(#(#attrs)* #[derive(Clone, Copy, Debug)] #vis struct #name;)
}

fn implement(model: &Model, builder: &Ident, body: TokenStream) -> TokenStream {
    let Model { name, cfg, config, .. } = model;
    let text = name.to_string();
    quote! {
        impl ::mpk_runtime::graph::Model for #name {
            type Config = #config;
            const NAME: &'static str = #text;

            #[allow(non_snake_case)]
            fn build(
                #cfg: &#config,
                #builder: &mut ::mpk_runtime::graph::Builder,
            ) -> ::core::result::Result<::mpk_runtime::graph::Value, ::mpk_runtime::graph::GraphError> {
                #body
            }
        }
    }
}

/// The parameter of `build`; expressions of the author can't name it, so that nothing but the config decides.
pub(super) fn builder() -> Ident {
    Ident::new("builder", Span::mixed_site())
}

/// A value: its constants and its variable.
#[derive(Clone)]
pub(super) struct Val {
    /// A const expression of type `Edge`.
    pub(super) edge: TokenStream,
    /// The name of the op that made it, for messages.
    pub(super) from: TokenStream,
    /// The variable in `build`.
    pub(super) var: Ident,
}

pub(super) struct Expand<'a> {
    pub(super) model: &'a Model,
    /// The constants.
    pub(super) items: TokenStream,
    count: usize,
    values: Vec<(&'a Ident, Val)>,
    /// The index of the layer around.
    pub(super) index: Option<&'a Ident>,
    /// The place of the last op.
    pub(super) last: Option<Span>,
}

impl<'a> Expand<'a> {
    /// A number for the next constants.
    pub(super) fn fresh(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    pub(super) fn is_dim(&self, name: &Ident) -> bool {
        self.model.dims.iter().any(|d| d.name == *name)
    }

    pub(super) fn value(&self, name: &Ident) -> Option<&Val> {
        self.values.iter().rev().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    /// The dimensions by symbol.
    fn dims(&mut self) {
        for dim in &self.model.dims {
            let name = dim_const(&dim.name);
            let value = dim.value.symbolic(&|n| self.is_dim(n));
            self.items.extend(quote! {
                #[allow(non_upper_case_globals, dead_code)]
                const #name: ::mpk_runtime::shape::Dim = #value;
            });
        }
    }

    /// The dimensions by value, as variables of their own names.
    fn build_dims(&self) -> TokenStream {
        let model = self.model.name.to_string();
        let cfg = &self.model.cfg;
        let lets = self.model.dims.iter().map(|dim| {
            let name = &dim.name;
            let value = dim.value.numeric(cfg, &|n| self.is_dim(n));
            let text = format!("{name} = {}", dim.value);
            quote! {
                let #name: usize = #value.get(#model, #text)?;
                let _ = #name;
            }
        });
        quote!(let _ = #cfg; #(#lets)*)
    }

    /// Writes the statements of a block that begins with `current`, and gives the value that it ends with.
    fn block(&mut self, block: &'a Block, current: Option<Val>, out: &mut TokenStream) -> Option<Val> {
        let scope = self.values.len();
        let mut current = current;
        // Whether nothing has taken the value of the last statement yet: the next one must.
        let mut idle = false;
        for stmt in &block.stmts {
            match stmt {
                Stmt::Chain(chain) => {
                    let chained = match &current {
                        Some(value) if idle && chain.added.is_empty() => Chained::Arrow(value),
                        value => Chained::Start(value.as_ref()),
                    };
                    current = Some(self.chain(chain, chained, out)?);
                    idle = true;
                }
                Stmt::Let(stmt) => {
                    self.let_(stmt, current.as_ref(), out)?;
                    // It may have.
                    idle = false;
                }
                Stmt::Layer(layer) => current = Some(self.layer(layer, current.as_ref()?, out)?),
                Stmt::Extra(names) => {
                    let builder = builder();
                    for name in names {
                        let name = self.full_name(&[quote!(#name)]);
                        out.extend(quote!(#builder.extra(#name);));
                    }
                }
            }
        }
        self.values.truncate(scope);
        current
    }

    fn layer(&mut self, layer: &'a Layer, current: &Val, out: &mut TokenStream) -> Option<Val> {
        let entry = Val { var: self.var(), ..current.clone() };
        let around = self.index.replace(&layer.index);
        let mut body = TokenStream::new();
        let end = self.block(&layer.body, Some(entry.clone()), &mut body)?;
        self.index = around;

        let (edge, end_edge) = (&current.edge, &end.edge);
        let check = quote_spanned!(layer.keyword=>
            ::mpk_runtime::shape::check_meet(::mpk_runtime::shape::Meet::Layer, &#edge, &#end_edge));
        self.items.extend(quote!(const _: () = #check;));

        let model = self.model.name.to_string();
        let (index, builder, prefix) = (&layer.index, builder(), prefix());
        let (start, end_of) = (&layer.start, &layer.end);
        let path = format!("{}.", layer.path);
        let (var, before, after) = (&entry.var, &current.var, &end.var);
        out.extend(quote_spanned! {Span::mixed_site()=>
            let layers = ::mpk_runtime::graph::Size::of(#start).count(#model, "the first layer")?
                ..::mpk_runtime::graph::Size::of(#end_of).count(#model, "the number of layers")?;
            let mut #var = #before;
            for #index in #builder.layers(layers)? {
                #builder.set_layer(::core::option::Option::Some(#index));
                let #prefix = [#path, &#index.to_string(), "."].concat();
                let _ = &#prefix;
                #body
                #var = #after;
            }
            #builder.set_layer(::core::option::Option::None);
        });
        Some(Val { var: entry.var, ..end })
    }

    fn let_(&mut self, stmt: &'a Let, current: Option<&Val>, out: &mut TokenStream) -> Option<()> {
        let values = if stmt.tuple {
            self.outputs(&stmt.chain, stmt.names.len(), current, out)?
        } else {
            vec![self.chain(&stmt.chain, Chained::Start(current), out)?]
        };
        for (name, value) in stmt.names.iter().zip(values) {
            self.values.push((name, value));
        }
        Some(())
    }

    /// Writes a chain and gives its value.
    fn chain(&mut self, chain: &'a Chain, chained: Chained, out: &mut TokenStream) -> Option<Val> {
        self.steps(chain, &chain.steps, chained, out)
    }

    /// Writes a chain with these `steps` of it.
    fn steps(&mut self, chain: &'a Chain, steps: &'a [Item], chained: Chained, out: &mut TokenStream) -> Option<Val> {
        let mut value = self.item(&chain.first, chained, out)?;
        for (plus, item) in &chain.added {
            let other = self.item(item, chained, out)?;
            value = self.add(*plus, &value, &other, out);
        }
        for step in steps {
            value = self.item(step, Chained::Arrow(&value), out)?;
        }
        Some(value)
    }

    /// Writes a chain that ends in an op of `count` outputs and gives them all.
    fn outputs(&mut self, chain: &'a Chain, count: usize, current: Option<&Val>, out: &mut TokenStream) -> Option<Vec<Val>> {
        let start = Chained::Start(current);
        let (last, before) = match chain.steps.split_last() {
            Some((last, steps)) => (last, Some(self.steps(chain, steps, start, out)?)),
            None => (&chain.first, None),
        };
        let chained = before.as_ref().map_or(start, Chained::Arrow);
        if let Item::Op(op) = last { Some(self.op(op, chained, Some(count), out)) } else { None }
    }

    fn item(&mut self, item: &'a Item, chained: Chained, out: &mut TokenStream) -> Option<Val> {
        let current = chained.value();
        match item {
            Item::Op(op) => {
                let value = op.path.get_ident().filter(|_| !op.called).and_then(|name| self.value(name));
                match value {
                    Some(value) => Some(value.clone()),
                    None => self.op(op, chained, None, out).into_iter().next(),
                }
            }
            Item::Residual(keyword, block) => {
                let value = self.in_braces(block, current, out)?;
                Some(self.add(*keyword, &value, current?, out))
            }
            Item::If(stmt) => self.if_(stmt, current, out),
            Item::Match(stmt) => self.match_(stmt, current, out),
            Item::Group(chain) => self.chain(chain, chained, out),
        }
    }

    /// Writes a block with a scope of its own.
    fn in_braces(&mut self, block: &'a Block, current: Option<&Val>, out: &mut TokenStream) -> Option<Val> {
        let mut body = TokenStream::new();
        let value = self.block(block, current.cloned(), &mut body)?;
        let (var, end) = (self.var(), &value.var);
        out.extend(quote!(let #var = { #body #end };));
        Some(Val { var, ..value })
    }

    fn if_(&mut self, stmt: &'a If, current: Option<&Val>, out: &mut TokenStream) -> Option<Val> {
        let (mut then_body, mut else_body) = (TokenStream::new(), TokenStream::new());
        let then = self.block(&stmt.then, current.cloned(), &mut then_body)?;
        let otherwise = match &stmt.otherwise {
            None => current?.clone(),
            Some(Otherwise::Block(block)) => self.block(block, current.cloned(), &mut else_body)?,
            Some(Otherwise::If(stmt)) => self.if_(stmt, current, &mut else_body)?,
        };
        let joined = self.join(stmt.keyword, &[then.clone(), otherwise.clone()])?;
        let (cond, var, then, otherwise) = (&stmt.cond, &joined.var, &then.var, &otherwise.var);
        out.extend(quote!(let #var = if #cond { #then_body #then } else { #else_body #otherwise };));
        Some(joined)
    }

    fn match_(&mut self, stmt: &'a Match, current: Option<&Val>, out: &mut TokenStream) -> Option<Val> {
        let mut arms = TokenStream::new();
        let mut ends = Vec::new();
        for arm in &stmt.arms {
            let mut body = TokenStream::new();
            let end = self.block(&arm.body, current.cloned(), &mut body)?;
            let (pat, var) = (&arm.pat, &end.var);
            let guard = arm.guard.as_ref().map(|guard| quote!(if #guard));
            arms.extend(quote!(#pat #guard => { #body #var }));
            ends.push(end);
        }
        let joined = self.join(stmt.keyword, &ends)?;
        let (on, var) = (&stmt.on, &joined.var);
        out.extend(quote!(let #var = match #on { #arms };));
        Some(joined)
    }

    /// The value after several ways have met, and the checks that they are alike.
    fn join(&mut self, at: Span, ways: &[Val]) -> Option<Val> {
        let (first, others) = ways.split_first()?;
        let mut joined = first.clone();
        for way in others {
            let (a, b) = (&joined.edge, &way.edge);
            let check = quote_spanned!(at=> ::mpk_runtime::shape::check_meet(::mpk_runtime::shape::Meet::Ways, &#a, &#b));
            let edge = format_ident!("MPK_EDGE_{}", self.fresh());
            self.items.extend(quote! {
                const _: () = #check;
                const #edge: ::mpk_runtime::shape::Edge = #a.join(#b);
            });
            joined.edge = quote!(#edge);
        }
        Some(Val { var: self.var(), ..joined })
    }

    pub(super) fn var(&mut self) -> Ident {
        let n = self.fresh();
        Ident::new(&format!("v{n}"), Span::mixed_site())
    }
}

/// The variable that holds `model.layers.3.` within a layer.
pub(super) fn prefix() -> Ident {
    Ident::new("prefix", Span::mixed_site())
}
