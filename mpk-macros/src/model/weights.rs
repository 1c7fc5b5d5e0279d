//! Weights on both sides: their shapes by symbol, and the expressions that name their tensors.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

use super::ast::{Poly, Shape, Weight};
use super::expand::{Expand, prefix};

/// The dimensions of a weight: of each, the parts it is stacked of.
type Parts<'w> = Vec<Vec<&'w Poly>>;

impl Expand<'_> {
    /// `Weight(&[&[parts]])`.
    pub(super) fn symbolic_weight(&self, weight: &Weight) -> TokenStream {
        self.symbolic_parts(&parts(weight))
    }

    /// Calls that fail in const evaluation where modules that stand side by side do not fit.
    pub(super) fn alike(&self, weight: &Weight) -> Vec<TokenStream> {
        let dims = |shape: Option<&Shape>| {
            let dims = shape.into_iter().flatten().map(|d| d.symbolic(&|n| self.is_dim(n)));
            quote!(&[#(#dims),*])
        };
        let check = |Alike { a, b, skip }| {
            let (first, second, a_dims, b_dims) = (a.0, b.0, dims(a.2), dims(b.2));
            quote_spanned!(b.1=> ::mpk_runtime::shape::check_alike(#second, #b_dims, #first, #a_dims, #skip))
        };
        alike(weight).into_iter().map(check).collect()
    }

    fn symbolic_parts(&self, parts: &Parts) -> TokenStream {
        let dims = parts.iter().map(|dim| {
            let dims = dim.iter().map(|d| d.symbolic(&|n| self.is_dim(n)));
            quote!(&[#(#dims),*])
        });
        quote!(Weight(&[#(#dims),*]))
    }

    /// An expression of type `WeightExpr`.
    pub(super) fn numeric_weight(&self, weight: &Weight) -> TokenStream {
        self.expr(weight, &[], false)
    }

    /// The biases of a weight, on both sides.
    pub(super) fn bias(&self, weight: &Weight) -> (TokenStream, TokenStream) {
        let outputs = parts(weight).into_iter().take(1).collect();
        (self.symbolic_parts(&outputs), self.expr(weight, &[], true))
    }

    /// A weight whose names begin with the strings `before`; the biases of its modules if `bias`.
    fn expr(&self, weight: &Weight, before: &[TokenStream], bias: bool) -> TokenStream {
        match weight {
            Weight::Module { name, shape, .. } => {
                let name = if bias { format!("{name}.bias") } else { name.clone() };
                let name = self.full_name(&[before, &[quote!(#name)]].concat());
                let shape = shape.iter().flatten().take(if bias { 1 } else { usize::MAX }).map(|dim| self.size(dim));
                quote!(::mpk_runtime::graph::WeightExpr::module(#name, ::std::vec![#(#shape),*]))
            }
            Weight::Stack(members) => {
                let members = members.iter().map(|m| self.expr(m, before, bias));
                quote!(::mpk_runtime::graph::WeightExpr::Stack(::std::vec![#(#members),*]))
            }
            Weight::Experts { base, count, each, .. } => {
                let expert = Ident::new("expert", Span::mixed_site());
                let base = format!("{base}.");
                let each = self.expr(each, &[before, &[quote!(#base), quote!(&#expert.to_string()), quote!(".")]].concat(), bias);
                let count = self.count(count);
                quote_spanned!(Span::mixed_site()=> ::mpk_runtime::graph::WeightExpr::Experts({
                    let mut experts = ::std::vec::Vec::new();
                    for #expert in 0..#count {
                        experts.push(#each);
                    }
                    experts
                }))
            }
            Weight::Tied(a, b) => {
                let builder = super::expand::builder();
                let (a, b) = (self.expr(a, before, bias), self.expr(b, before, bias));
                quote!(#builder.tied(#a, #b))
            }
            Weight::Rows(of, rows) => {
                let of = self.expr(of, before, bias);
                let rows = rows.iter().map(|dim| self.size(dim));
                quote!(::mpk_runtime::graph::WeightExpr::Rows(::std::boxed::Box::new(#of), ::std::vec![#(#rows),*]))
            }
            Weight::Absorb(a, b) => {
                let (a, b) = (self.expr(a, before, bias), self.expr(b, before, bias));
                quote!(::mpk_runtime::graph::WeightExpr::Absorb(::std::boxed::Box::new(#a), ::std::boxed::Box::new(#b)))
            }
        }
    }

    /// An expression of type `String`: the layer's prefix and `pieces`.
    pub(super) fn full_name(&self, pieces: &[TokenStream]) -> TokenStream {
        let prefix = self.index.map(|_| {
            let prefix = prefix();
            quote!(#prefix.as_str(),)
        });
        quote!([#prefix #(#pieces),*].concat())
    }

    /// A dimension by value: an expression of type `usize`.
    fn size(&self, dim: &Poly) -> TokenStream {
        match dim {
            Poly::Name(name) => quote!(#name),
            _ => self.checked(dim, "get"),
        }
    }

    fn count(&self, dim: &Poly) -> TokenStream {
        self.checked(dim, "count")
    }

    fn checked(&self, dim: &Poly, how: &str) -> TokenStream {
        let value = dim.numeric(&self.model.cfg, &|n| self.is_dim(n));
        let (how, model, text) = (Ident::new(how, Span::call_site()), self.model.name.to_string(), dim.to_string());
        quote!(#value.#how(#model, #text)?)
    }
}

/// The dimensions of a weight by parts: those of a stack's rows are kept apart.
fn parts(weight: &Weight) -> Parts<'_> {
    match weight {
        Weight::Module { shape, .. } => shape.iter().flatten().map(|dim| vec![dim]).collect(),
        Weight::Stack(members) => {
            let mut members = members.iter().map(parts);
            let mut dims = members.next().unwrap_or_default();
            for member in members {
                if let (Some(rows), Some(more)) = (dims.first_mut(), member.into_iter().next()) {
                    rows.extend(more);
                }
            }
            dims
        }
        Weight::Experts { count, each, .. } => {
            let mut dims = vec![vec![count]];
            dims.extend(parts(each));
            dims
        }
        Weight::Tied(a, _) => parts(a),
        Weight::Rows(of, rows) => {
            let mut dims = parts(of);
            if let Some(first) = dims.first_mut() {
                *first = rows.iter().collect();
            }
            dims
        }
        Weight::Absorb(a, b) => parts(a).into_iter().take(1).chain(parts(b).pop()).collect(),
    }
}

/// Modules that must be alike from dimension `skip` on.
struct Alike<'w> {
    a: Module<'w>,
    b: Module<'w>,
    skip: usize,
}

/// Name, place and shape of a module.
type Module<'w> = (&'w str, Span, Option<&'w Shape>);

/// The members of a stack are alike but for their rows, those of `tied` in all.
fn alike(weight: &Weight) -> Vec<Alike<'_>> {
    let first = |w| Weight::modules(w).into_iter().next();
    match weight {
        Weight::Module { .. } => Vec::new(),
        Weight::Stack(members) => {
            let inside = members.iter().flat_map(alike);
            let modules: Vec<Module> = members.iter().filter_map(first).collect();
            let pairs =
                modules.split_first().into_iter().flat_map(|(a, rest)| rest.iter().map(|b| Alike { a: *a, b: *b, skip: 1 }));
            inside.chain(pairs).collect()
        }
        Weight::Tied(a, b) => {
            let pairs = a.modules().into_iter().zip(b.modules()).map(|(a, b)| Alike { a, b, skip: 0 });
            alike(a).into_iter().chain(alike(b)).chain(pairs).collect()
        }
        Weight::Experts { each: of, .. } | Weight::Rows(of, _) => alike(of),
        Weight::Absorb(a, b) => alike(a).into_iter().chain(alike(b)).collect(),
    }
}
