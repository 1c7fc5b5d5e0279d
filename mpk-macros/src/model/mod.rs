//! `model!`: the architecture of a language model.
//!
//! [`parse`] reads the tokens, [`check`] says what can be said without types, [`expand`] writes two things: a `Model` that
//! builds the graph by value, and constants that check each op by symbol, one for each op, spanned at it. Shapes meet in
//! const evaluation because macros do not see each other's results.

mod args;
mod ast;
mod check;
mod cond;
mod expand;
mod mention;
mod op;
mod parse;
mod poly;
mod weight;
mod weights;

use proc_macro2::TokenStream;

use crate::errors::Errors;

/// Expands `model! { … }`.
pub fn expand(tokens: TokenStream) -> TokenStream {
    let mut errors = Errors::new();
    let model = parse::parse(tokens.clone(), &mut errors);
    if let Some(model) = &model {
        check::check(model, &mut errors);
        if errors.is_empty()
            && let Some(expanded) = expand::expand(model)
        {
            return expanded;
        }
    }
    let (stub, ops) = (model.as_ref().map(expand::stub), mention::ops(tokens));
    let cfg = model.as_ref().map(|model| crate::item::cfg(&model.attrs));
    let errors = errors.into_compile_errors();
    quote::quote!(#errors #stub #cfg const _: () = { #ops };)
}

#[cfg(test)]
mod tests;
