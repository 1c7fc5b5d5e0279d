//! `#[mpk_task]`: a function signature with CUDA C++ bodies becomes a task.

mod block;
mod bodies;
mod check;
mod expand;
mod model;
mod names;
mod options;
mod parse;
mod ports;
mod reference;
mod roles;
mod shape;
mod symbols;
#[cfg(test)]
mod tests;

use proc_macro2::TokenStream;

pub use self::expand::broken_def;
pub use self::options::chain;

use crate::errors::Errors;

/// Expands one task. On an error the item still defines the task, so that the names in `model!` resolve.
pub fn expand(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::new();
    let Some(task) = parse::read(attribute, item.clone(), &mut errors) else {
        let (errors, stub) = (errors.into_compile_errors(), parse::stub(item.clone()).unwrap_or(item));
        return quote::quote!(#errors #stub);
    };
    let groups = check::task(&task, &mut errors);
    if errors.is_empty() {
        return expand::task(&task, groups);
    }
    let stub = expand::broken(&task);
    let errors = errors.into_compile_errors();
    quote::quote!(#errors #stub)
}
