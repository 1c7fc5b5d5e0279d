//! `op!` and `task_table!`: composites of tasks, and lists of them.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, Path, Token, Visibility};

use crate::task::chain;

/// `/// docs  pub argmax = argmax_partial -> argmax_reduce`, one or several with `;` after each.
pub fn ops(tokens: TokenStream) -> TokenStream {
    let one = |input: ParseStream| -> syn::Result<TokenStream> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility: Visibility = input.parse()?;
        let name: Ident = input.parse()?;
        input.parse::<Token![=]>()?;
        Ok(op(&attributes, &visibility, &name, &chain(input)?))
    };
    let list = |input: ParseStream| Punctuated::<TokenStream, Token![;]>::parse_terminated_with(input, one);
    list.parse2(tokens).map_or_else(|error| error.to_compile_error(), |ops| ops.into_iter().collect())
}

fn op(attributes: &[Attribute], visibility: &Visibility, name: &Ident, stages: &[Path]) -> TokenStream {
    let text = name.to_string();
    let docs = if attributes.iter().any(|a| a.path().is_ident("doc")) {
        None
    } else {
        let text = format!("The op `{name}`.");
        Some(quote!(#[doc = #text]))
    };
    quote! {
        #docs
        #(#attributes)*
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug)]
        #visibility struct #name {}

        impl ::mpk_runtime::task::Op for #name {
            const DEF: ::mpk_runtime::task::OpDef =
                ::mpk_runtime::task::OpDef { name: #text, stages: &[#(&<#stages as ::mpk_runtime::task::Task>::TASK),*] };
        }
    }
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
