//! Shapes: integer expressions over the symbols of a task.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;

use crate::errors::Errors;

/// A dimension as the signature writes it; it becomes a `shape::Expr`.
#[derive(Clone, Debug)]
pub enum Shape {
    Num(i64),
    Sym(Ident),
    Add(Box<Shape>, Box<Shape>),
    Mul(Box<Shape>, Box<Shape>),
    Div(Box<Shape>, Box<Shape>),
    DivCeil(Box<Shape>, Box<Shape>),
}

impl Shape {
    /// Reads `expr`; `None` after reporting what is no shape.
    pub fn read(expr: &syn::Expr, errors: &mut Errors) -> Option<Shape> {
        match expr {
            syn::Expr::Paren(paren) => Shape::read(&paren.expr, errors),
            syn::Expr::Group(group) => Shape::read(&group.expr, errors),
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(n), .. }) => errors.take(n.base10_parse()).map(Shape::Num),
            syn::Expr::Path(path) => match path.path.get_ident() {
                Some(ident) => Some(Shape::Sym(ident.clone())),
                None => unknown(expr, errors),
            },
            syn::Expr::Binary(binary) => {
                let join = match binary.op {
                    syn::BinOp::Add(_) => Shape::Add,
                    syn::BinOp::Mul(_) => Shape::Mul,
                    syn::BinOp::Div(_) => Shape::Div,
                    _ => return unknown(expr, errors),
                };
                let (left, right) = (Shape::read(&binary.left, errors), Shape::read(&binary.right, errors));
                Some(join(Box::new(left?), Box::new(right?)))
            }
            syn::Expr::MethodCall(call) if call.method == "div_ceil" && call.args.len() == 1 => {
                let (left, right) = (Shape::read(&call.receiver, errors), Shape::read(&call.args[0], errors));
                Some(Shape::DivCeil(Box::new(left?), Box::new(right?)))
            }
            _ => unknown(expr, errors),
        }
    }

    /// Adds the symbols that are not in `list` yet, in the order of reading.
    pub fn symbols(&self, list: &mut Vec<Ident>) {
        match self {
            Shape::Num(_) => {}
            Shape::Sym(name) => {
                if !list.contains(name) {
                    list.push(name.clone());
                }
            }
            Shape::Add(a, b) | Shape::Mul(a, b) | Shape::Div(a, b) | Shape::DivCeil(a, b) => {
                a.symbols(list);
                b.symbols(list);
            }
        }
    }
}

fn unknown(expr: &syn::Expr, errors: &mut Errors) -> Option<Shape> {
    errors.syntax(expr.span(), "a shape is made of integers, symbols, `+`, `*`, `/` and `.div_ceil(…)`");
    None
}

impl ToTokens for Shape {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let expr = quote!(::mpk_runtime::shape::Expr);
        tokens.extend(match self {
            Shape::Num(n) => quote!(#expr::Num(#n)),
            Shape::Sym(name) => {
                let name = name.to_string();
                quote!(#expr::Sym(#name))
            }
            Shape::Add(a, b) => quote!(#expr::Add(&#a, &#b)),
            Shape::Mul(a, b) => quote!(#expr::Mul(&#a, &#b)),
            Shape::Div(a, b) => quote!(#expr::Div(&#a, &#b)),
            Shape::DivCeil(a, b) => quote!(#expr::DivCeil(&#a, &#b)),
        });
    }
}

/// The value of an expression of integer literals.
pub fn constant(expr: &syn::Expr) -> syn::Result<usize> {
    let value = match expr {
        syn::Expr::Paren(paren) => Some(constant(&paren.expr)?),
        syn::Expr::Group(group) => Some(constant(&group.expr)?),
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(n), .. }) => Some(n.base10_parse()?),
        syn::Expr::Binary(binary) => {
            let (a, b) = (constant(&binary.left)?, constant(&binary.right)?);
            match binary.op {
                syn::BinOp::Add(_) => a.checked_add(b),
                syn::BinOp::Sub(_) => a.checked_sub(b),
                syn::BinOp::Mul(_) => a.checked_mul(b),
                syn::BinOp::Div(_) => a.checked_div(b),
                _ => None,
            }
        }
        _ => None,
    };
    value.ok_or_else(|| syn::Error::new(expr.span(), "a size here is an expression of integer literals"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Option<Shape>, Vec<String>) {
        let mut errors = Errors::new();
        let expr = syn::parse_str(text).unwrap();
        let shape = Shape::read(&expr, &mut errors);
        (shape, errors.messages())
    }

    #[test]
    fn symbols_come_in_order_and_once() {
        let mut symbols = Vec::new();
        read("(Q + 2 * KV).div_ceil(D) * Q").0.unwrap().symbols(&mut symbols);
        assert_eq!(symbols.iter().map(ToString::to_string).collect::<Vec<_>>(), ["Q", "KV", "D"]);
    }

    #[test]
    fn what_is_no_shape_is_refused() {
        for text in ["a - b", "f(x)", "a::b", "1.5", "x.div_ceil()"] {
            let (shape, messages) = read(text);
            assert!(shape.is_none() && messages.len() == 1, "{text}: {messages:?}");
        }
    }

    #[test]
    fn constants_are_checked() {
        let value = |text: &str| constant(&syn::parse_str(text).unwrap()).ok();
        assert_eq!(value("8 * 16 * (20 - 4) / 2"), Some(1024));
        assert_eq!(value("1 / 0"), None);
        assert_eq!(value("0 - 1"), None);
        assert_eq!(value("N"), None);
    }
}
