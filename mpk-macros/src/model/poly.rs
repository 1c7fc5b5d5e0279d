//! Dimensions: numbers and names under `+` and `*`.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::parse::ParseStream;
use syn::{LitInt, Result, Token, bracketed, parenthesized, token};

use super::ast::{Poly, Shape};

/// `term + term`.
pub fn poly(input: ParseStream) -> Result<Poly> {
    let mut sum = product(input)?;
    while input.parse::<Option<Token![+]>>()?.is_some() {
        sum = Poly::Add(Box::new(sum), Box::new(product(input)?));
    }
    if input.peek(Token![-]) || input.peek(Token![/]) {
        return Err(input.error(
            "a dimension is made of config fields, numbers, `+` and `*`, so that it can be compared by symbol\n\
             help: name the smaller dimension, and write the larger one with it",
        ));
    }
    Ok(sum)
}

fn product(input: ParseStream) -> Result<Poly> {
    let mut product = factor(input)?;
    while input.parse::<Option<Token![*]>>()?.is_some() {
        product = Poly::Mul(Box::new(product), Box::new(factor(input)?));
    }
    Ok(product)
}

fn factor(input: ParseStream) -> Result<Poly> {
    if input.peek(LitInt) {
        return Ok(Poly::Num(input.parse::<LitInt>()?.base10_parse()?));
    }
    if input.peek(token::Paren) {
        let content;
        parenthesized!(content in input);
        let inner = poly(&content)?;
        return if content.is_empty() { Ok(inner) } else { Err(content.error("expected `+`, `*` or `)`")) };
    }
    if input.peek(syn::Ident) {
        let name: Ident = input.parse()?;
        if input.peek(Token![.]) {
            let what = "a dimension is no Rust expression: `.` has no place in it\nhelp: fields of the config stand by themselves, as in `dims { H = hidden_size }`";
            return Err(syn::Error::new(name.span(), what));
        }
        return Ok(Poly::Name(name));
    }
    Err(input.error("expected a dimension: a name, a number, or a sum or product of them"))
}

/// `[N, K]`.
pub fn shape(input: ParseStream) -> Result<Shape> {
    let content;
    bracketed!(content in input);
    let mut dims = Vec::new();
    while !content.is_empty() {
        dims.push(poly(&content)?);
        if content.is_empty() {
            break;
        }
        content.parse::<Token![,]>().map_err(|e| syn::Error::new(e.span(), "expected `,`, `+`, `*` or `]`"))?;
    }
    Ok(dims)
}

/// The const that holds the dimension `name` by symbol.
pub fn dim_const(name: &Ident) -> Ident {
    format_ident!("MPK_DIM_{}", name)
}

impl Poly {
    /// By symbol: an expression of type `Dim`. A name that `is_dim` is a dimension, any other a config field.
    pub fn symbolic(&self, is_dim: &dyn Fn(&Ident) -> bool) -> TokenStream {
        match self {
            Poly::Num(n) => quote!(::mpk_runtime::shape::Dim::num(#n)),
            Poly::Name(name) if is_dim(name) => {
                let name = dim_const(name);
                quote!(#name)
            }
            Poly::Name(name) => {
                let field = name.to_string();
                quote!(::mpk_runtime::shape::Dim::field(#field))
            }
            Poly::Add(a, b) => {
                let (a, b) = (a.symbolic(is_dim), b.symbolic(is_dim));
                quote!(#a.add(#b))
            }
            Poly::Mul(a, b) => {
                let (a, b) = (a.symbolic(is_dim), b.symbolic(is_dim));
                quote!(#a.mul(#b))
            }
        }
    }

    /// By value: an expression of type `Size`, checked on overflow.
    pub fn numeric(&self, cfg: &Ident, is_dim: &dyn Fn(&Ident) -> bool) -> TokenStream {
        match self {
            Poly::Num(n) => quote!(::mpk_runtime::graph::Size::of(#n)),
            Poly::Name(name) if is_dim(name) => quote!(::mpk_runtime::graph::Size::of(#name)),
            Poly::Name(name) => {
                let span = name.span();
                quote_spanned!(span=> ::mpk_runtime::graph::Size::of(#cfg.#name))
            }
            Poly::Add(a, b) => {
                let (a, b) = (a.numeric(cfg, is_dim), b.numeric(cfg, is_dim));
                quote!((#a + #b))
            }
            Poly::Mul(a, b) => {
                let (a, b) = (a.numeric(cfg, is_dim), b.numeric(cfg, is_dim));
                quote!((#a * #b))
            }
        }
    }
}
