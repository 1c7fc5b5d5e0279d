//! Reads an item `#[mpk_task(…)] fn name(ports) { bodies }`.

use proc_macro2::TokenStream;
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Attribute, Ident, Token, Visibility};

use super::model::Task;
use super::{bodies, expand, options, ports};
use crate::cpp::Place;
use crate::errors::Errors;
use crate::item::Head;

/// Reads all that can be read. `None` only if the item is no function at all.
pub fn read(attribute: TokenStream, item: TokenStream, errors: &mut Errors) -> Option<Task> {
    let function = errors.take(syn::parse2::<syn::ItemFn>(item))?;
    let signature = &function.sig;
    if !signature.generics.params.is_empty() {
        errors
            .syntax(signature.generics.span(), "a task has no generics: its symbols and element variables are bound by `model!`");
    }
    if let syn::ReturnType::Type(_, ty) = &signature.output {
        errors.syntax(ty.span(), "a task returns nothing: what it gives are its `Out` ports");
    }
    let words = [
        signature.constness.as_ref().map(Spanned::span),
        signature.asyncness.as_ref().map(Spanned::span),
        signature.unsafety.as_ref().map(Spanned::span),
        signature.abi.as_ref().map(Spanned::span),
    ];
    for span in words.into_iter().flatten() {
        errors.syntax(span, "a task is a plain `fn`");
    }
    let options = options::read(attribute, errors);
    let before = errors.len();
    let ports = ports::read(signature, errors);
    let partial = errors.len() > before;
    let bodies::Bodies { bodies, reference, lost } = bodies::read(&function.block, errors);
    Some(Task {
        name: signature.ident.clone(),
        file: Place::of(signature.ident.span()).file,
        attributes: function.attrs,
        visibility: function.vis,
        options,
        ports,
        partial,
        bodies,
        reference,
        lost,
    })
}

/// A stub for an item that can't be read, if it begins as a function does.
pub fn stub(item: TokenStream) -> Option<TokenStream> {
    let begin = |input: ParseStream| {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility: Visibility = input.parse()?;
        input.parse::<Token![fn]>()?;
        let name: Ident = input.parse()?;
        input.parse::<TokenStream>()?;
        let head = Head { attributes: &attributes, visibility: &visibility, name: &name, kind: "task" };
        Ok(expand::stub(head, ""))
    };
    begin.parse2(item).ok()
}
