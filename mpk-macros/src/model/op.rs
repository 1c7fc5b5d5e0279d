//! One op: the call that builds it by value, and the constants that check it by symbol.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprLit, Lit, Member};

use super::ast::{Given, Named, Op, Shard, Weight};
use super::check::{Plain, plain};
use super::expand::{Expand, Val, builder};

/// The arguments of an op, for both sides.
struct Args {
    /// Elements of `Args::named`.
    symbolic: Vec<TokenStream>,
    /// Elements of `OpCall::named`, each with the condition under which it is given.
    numeric: Vec<(Option<TokenStream>, TokenStream)>,
}

impl Args {
    fn push(&mut self, port: &str, symbolic: TokenStream, numeric: TokenStream) {
        self.push_if(None, port, symbolic, numeric);
    }

    fn push_if(&mut self, cond: Option<TokenStream>, port: &str, symbolic: TokenStream, numeric: TokenStream) {
        self.symbolic.push(quote!(::mpk_runtime::shape::Named { port: #port, arg: ::mpk_runtime::shape::Arg::#symbolic }));
        self.numeric.push((cond, quote!((#port, #numeric))));
    }
}

/// The value that flows into an op.
#[derive(Clone, Copy)]
pub(super) enum Chained<'v> {
    /// Written as `->`: the op must take it.
    Arrow(&'v Val),
    /// The current value at the beginning of a statement, if there is one: the op may leave it.
    Start(Option<&'v Val>),
}

impl<'v> Chained<'v> {
    pub(super) fn value(self) -> Option<&'v Val> {
        match self {
            Chained::Arrow(value) => Some(value),
            Chained::Start(value) => value,
        }
    }
}

/// A call of an op, read.
struct Call<'v> {
    path: TokenStream,
    /// Where errors of it point.
    at: Span,
    chained: Chained<'v>,
    args: Args,
    shard: Shard,
    /// How many values are taken of it, if it is not the first alone.
    count: Option<usize>,
}

impl Expand<'_> {
    /// Writes an op and gives its values: the first, or all `count`.
    pub(super) fn op(&mut self, op: &Op, chained: Chained, count: Option<usize>, out: &mut TokenStream) -> Vec<Val> {
        let mut args = Args { symbolic: Vec::new(), numeric: Vec::new() };
        if let Some(weight) = &op.weight {
            self.weight("", weight, &mut args);
        }
        for named in &op.named {
            self.named(op, named, &mut args);
        }
        let path = &op.path;
        let call = Call { path: quote!(#path), at: op.name.span(), chained, args, shard: op.shard, count };
        self.call(call, out)
    }

    /// `chained + other`, by the op `add` of the author's scope.
    pub(super) fn add(&mut self, at: Span, chained: &Val, other: &Val, out: &mut TokenStream) -> Val {
        let mut args = Args { symbolic: Vec::new(), numeric: Vec::new() };
        self.given_value("r", other, &mut args);
        let add = Ident::new("add", at);
        let call = Call { path: quote!(#add), at, chained: Chained::Arrow(chained), args, shard: Shard::None, count: None };
        let mut values = self.call(call, out);
        values.pop().unwrap_or_else(|| chained.clone())
    }

    fn call(&mut self, call: Call, out: &mut TokenStream) -> Vec<Val> {
        let Call { path, at, chained, args, shard, count } = call;
        self.last = Some(at);
        let n = self.fresh();
        let (def, gives) = (format_ident!("MPK_OP_{n}"), format_ident!("MPK_GIVES_{n}"));
        let shard = match shard {
            Shard::None => quote!(::mpk_runtime::shape::Shard::None),
            Shard::Column => quote!(::mpk_runtime::shape::Shard::Column),
            Shard::Row => quote!(::mpk_runtime::shape::Shard::Row),
        };
        let (from, edge, var) = match chained.value() {
            None => (quote!(""), quote!(::core::option::Option::None), quote!(::core::option::Option::None)),
            Some(Val { edge, from, var }) => {
                (quote!(#from), quote!(::core::option::Option::Some(#edge)), quote!(::core::option::Option::Some(#var)))
            }
        };
        let symbolic = &args.symbolic;
        let trait_ = quote_spanned!(at=> ::mpk_runtime::task::Op);
        // Every token at the op: the error points at the span of the whole call.
        let gives_here = Ident::new(&gives.to_string(), at);
        let check = quote_spanned!(at=> #gives_here.check());
        self.items.extend(quote! {
            const #def: ::mpk_runtime::task::OpDef = <#path as #trait_>::DEF;
            const #gives: ::mpk_runtime::shape::Inference = ::mpk_runtime::shape::infer(
                &#def,
                &::mpk_runtime::shape::Args { from: #from, chained: #edge, named: &[#(#symbolic),*], shard: #shard },
            );
            const _: () = #check;
        });
        if let Chained::Arrow(_) = chained {
            let check = quote_spanned!(at=> ::mpk_runtime::shape::check_taken(#def.name, #from, &#gives));
            self.items.extend(quote!(const _: () = #check;));
        }
        if let Some(count) = count {
            let check = quote_spanned!(at=> ::mpk_runtime::shape::check_outs(#def.name, &#gives, #count));
            self.items.extend(quote!(const _: () = #check;));
        }

        let fixed = args.numeric.iter().filter(|(cond, _)| cond.is_none()).map(|(_, arg)| arg);
        let mut named = quote!(::std::vec![#(#fixed),*]);
        let optional: TokenStream = args
            .numeric
            .iter()
            .filter_map(|(cond, arg)| {
                cond.as_ref().map(|cond| quote_spanned!(Span::mixed_site()=> if #cond { named.push(#arg); }))
            })
            .collect();
        if !optional.is_empty() {
            named = quote_spanned!(Span::mixed_site()=> { let mut named = #named; #optional named });
        }
        let call = quote!(::mpk_runtime::graph::OpCall { chained: #var, named: #named, shard: #shard });
        let builder = builder();
        let vars: Vec<Ident> = (0..count.unwrap_or(1)).map(|_| self.var()).collect();
        match count {
            None => out.extend(quote!(let #(#vars)* = #builder.op(#def, #call)?;)),
            Some(_) => out.extend(quote!(let [#(#vars),*] = #builder.outs(#def, #call)?;)),
        }
        vars.into_iter()
            .enumerate()
            .map(|(i, var)| {
                let edge = format_ident!("MPK_EDGE_{}", self.fresh());
                self.items.extend(quote!(const #edge: ::mpk_runtime::shape::Edge = #gives.nth(#i);));
                Val { edge: quote!(#edge), from: quote!(#def.name), var }
            })
            .collect()
    }

    fn named(&mut self, op: &Op, named: &Named, args: &mut Args) {
        let port = named.name.to_string();
        let expr = match &named.value {
            Given::Weight(weight) => return self.weight(&port, weight, args),
            Given::Expr(expr) => expr,
        };
        match plain(op, &named.name, expr, |name| self.value(name).is_some(), |name| self.is_dim(name)) {
            Plain::Bias => {
                if let Some(weight) = &op.weight {
                    let (symbolic, numeric) = self.bias(weight);
                    let numeric = quote!(::mpk_runtime::graph::Input::Weight(#numeric));
                    args.push_if(Some(quote!(#expr)), &port, symbolic, numeric);
                }
            }
            Plain::Value(name) => {
                if let Some(value) = self.value(name) {
                    self.given_value(&port, value, args);
                }
            }
            Plain::Elem(elem) => {
                let elem = elem.value();
                args.push(&port, quote!(Elem(#elem)), quote!(::mpk_runtime::graph::Input::Elem(#elem)));
            }
            Plain::Dim(name) => {
                let symbol = super::poly::dim_const(name);
                args.push(&port, quote!(Param(#symbol)), quote!(::mpk_runtime::graph::Input::from(#name)));
            }
            Plain::Rust => {
                let symbol = self.symbol(expr);
                // An integer literal would be an `i32`.
                let value = if let Some(n) = whole_number(expr) { quote!(#n) } else { quote!(#expr) };
                let value = quote_spanned!(expr.span()=> ::mpk_runtime::graph::Input::from(#value));
                args.push(&port, quote!(Param(#symbol)), value);
            }
        }
    }

    fn given_value(&self, port: &str, value: &Val, args: &mut Args) {
        let Val { edge, from, var } = value;
        args.push(port, quote!(Edge(#from, #edge)), quote!(::mpk_runtime::graph::Input::Value(#var)));
    }

    fn weight(&mut self, port: &str, weight: &Weight, args: &mut Args) {
        for check in self.alike(weight) {
            self.items.extend(quote!(const _: () = #check;));
        }
        let (symbolic, numeric) = (self.symbolic_weight(weight), self.numeric_weight(weight));
        args.push(port, symbolic, quote!(::mpk_runtime::graph::Input::Weight(#numeric)));
    }

    /// A parameter by symbol, where it is a config field or a number.
    fn symbol(&self, expr: &Expr) -> TokenStream {
        if let Some(n) = whole_number(expr) {
            return quote!(::mpk_runtime::shape::Dim::num(#n as i64));
        }
        if let Expr::Field(field) = expr
            && let (Expr::Path(base), Member::Named(member)) = (&*field.base, &field.member)
            && base.path.is_ident(&self.model.cfg)
        {
            let name = member.to_string();
            return quote!(::mpk_runtime::shape::Dim::field(#name));
        }
        quote!(::mpk_runtime::shape::Dim::OPAQUE)
    }
}

/// The number that an expression is, if it is an integer literal without a type.
fn whole_number(expr: &Expr) -> Option<u32> {
    let Expr::Lit(ExprLit { lit: Lit::Int(n), .. }) = expr else { return None };
    if n.suffix().is_empty() { n.base10_parse().ok() } else { None }
}
