//! `op!` and `task_table!`: composites of tasks, and lists of them.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::quote;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Attribute, Path, Token, Visibility};

use crate::errors::Errors;
use crate::item::{self, Head};
use crate::task::{broken_def, chain};

/// `/// docs  pub argmax = argmax_partial -> argmax_reduce`, one or several with `;` after each. One that can't be read leaves the
/// others as they are.
pub fn ops(tokens: TokenStream) -> TokenStream {
    let mut errors = Errors::new();
    let mut out = TokenStream::new();
    let mut rest = tokens.into_iter().peekable();
    while rest.peek().is_some() {
        let one: TokenStream = rest.by_ref().take_while(|t| !matches!(t, TokenTree::Punct(p) if p.as_char() == ';')).collect();
        let mut head = None;
        match (|input: ParseStream| op(input, &mut head)).parse2(one) {
            Ok(op) => out.extend(op),
            Err(error) => {
                errors.push(error);
                out.extend(head.map(|(attributes, visibility, name)| stub(&attributes, &visibility, &name)));
            }
        }
    }
    out.extend(errors.into_compile_errors());
    out
}

/// Reads and writes one op; `read` is set as soon as it has a name.
fn op(input: ParseStream, read: &mut Option<(Vec<Attribute>, Visibility, Ident)>) -> syn::Result<TokenStream> {
    let attributes = input.call(Attribute::parse_outer)?;
    let visibility: Visibility = input.parse()?;
    let name: Ident = input.parse()?;
    *read = Some((attributes.clone(), visibility.clone(), name.clone()));
    input.parse::<Token![=]>()?;
    let stages = chain(input)?;
    if !input.is_empty() {
        return Err(input.error("expected `->` and a task, or `;` and another op"));
    }
    let head = Head { attributes: &attributes, visibility: &visibility, name: &name, kind: "op" };
    Ok(item::op(head, &quote!(&[#(&<#stages as ::mpk_runtime::task::Task>::TASK),*])))
}

/// An op that can't be read: paths to it resolve, it fits everywhere.
fn stub(attributes: &[Attribute], visibility: &Visibility, name: &Ident) -> TokenStream {
    let def = broken_def(&name.to_string(), "");
    item::op(Head { attributes, visibility, name, kind: "op" }, &quote!(&[&#def]))
}

/// `task_table! { linear_v3, rmsnorm }`: a `&'static [&'static TaskDef]`.
pub fn table(tokens: TokenStream) -> TokenStream {
    let paths = |input: ParseStream| Punctuated::<Path, Token![,]>::parse_terminated_with(input, Path::parse_mod_style);
    match paths.parse2(tokens) {
        Err(error) => error.to_compile_error(),
        Ok(paths) => {
            let paths = paths.into_iter();
            quote!({
                const TABLE: &[&::mpk_runtime::task::TaskDef] = &[#(&<#paths as ::mpk_runtime::task::Task>::TASK),*];
                TABLE
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_removes_no_other_op() {
        let text = ops("pub a = x -> y; pub b == x; c = x ->; d = x".parse().unwrap()).to_string();
        for name in ["a", "b", "c", "d"] {
            assert_eq!(text.matches(&format!("struct {name} ")).count(), 1, "{text}");
        }
        assert_eq!(text.matches("compile_error").count(), 2, "{text}");
    }

    #[test]
    fn conditions_hold_for_all_items() {
        let text = ops("#[cfg(test)] a = x".parse().unwrap()).to_string();
        assert_eq!(text.matches("cfg (test)").count(), 2, "{text}");
    }
}
