//! The items that `#[mpk_task]` and `op!` define: a unit struct whose path is the op's name in a model.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Attribute, Visibility};

/// What the author wrote of an op.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    pub attributes: &'a [Attribute],
    pub visibility: &'a Visibility,
    pub name: &'a Ident,
    /// `task` or `op`, for the documentation of one that has none.
    pub kind: &'a str,
}

/// The struct, and its `Op` made of `stages`, an expression of type `&[&TaskDef]`.
pub fn op(head: Head<'_>, stages: &TokenStream) -> TokenStream {
    let Head { attributes, visibility, name, kind } = head;
    let (text, cfg) = (name.to_string(), cfg(attributes));
    let docs = (!attributes.iter().any(|a| a.path().is_ident("doc"))).then(|| {
        let text = format!("The {kind} `{name}`.");
        quote!(#[doc = #text])
    });
    // Braces, since a unit struct would also be a pattern: `let add = …` in the same module would not bind.
    quote! {
        #docs
        #(#attributes)*
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug)]
        #visibility struct #name {}

        #cfg
        impl ::mpk_runtime::task::Op for #name {
            const DEF: ::mpk_runtime::task::OpDef = ::mpk_runtime::task::OpDef { name: #text, stages: #stages };
        }
    }
}

/// The conditions under which an item is compiled: they hold for all that is written for it.
pub fn cfg(attributes: &[Attribute]) -> TokenStream {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).map(|attribute| quote!(#attribute)).collect()
}
