//! Writes the Rust reference of a task as a function over `reference::Call`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};

use super::model::{ParamType, PortKind, Task};

/// A function item and its name, as one expression.
pub fn function(task: &Task) -> TokenStream {
    // Not visible to the author's code, whatever its names are.
    let call = Ident::new("call", Span::mixed_site());
    let ports = task.ports.iter().enumerate().map(|(index, port)| {
        let name = &port.name;
        let getter = match (port.kind, port.optional) {
            (PortKind::In, false) => "input",
            (PortKind::In, true) => "optional_input",
            (PortKind::Out, _) => "output",
            (PortKind::Weight, false) => "weight",
            (PortKind::Weight, true) => "optional_weight",
            (PortKind::State { .. }, _) => "state",
            (PortKind::Rows, _) => "rows",
            (PortKind::Param(ParamType::F32), _) => "f32",
            (PortKind::Param(ParamType::U32), _) => "u32",
            (PortKind::Param(ParamType::Rope), _) => "rope",
            (PortKind::TaskOffset, _) => "offset",
        };
        let getter = format_ident!("{getter}");
        quote!(#[allow(non_snake_case, unused_variables)] let #name = #call.#getter(#index);)
    });
    let symbols = task.symbols().into_iter().filter(|symbol| task.port(&symbol.to_string()).is_none()).map(|symbol| {
        let text = symbol.to_string();
        quote!(#[allow(non_snake_case, unused_variables)] let #symbol: usize = #call.dim(#text);)
    });
    let tiles = Ident::new("tiles", Span::call_site());
    let phases: &[TokenStream] = task.reference.as_ref().map_or(&[], |r| &r.phases);
    let body = match phases {
        [one] => one.clone(),
        several => {
            let numbers = 0..several.len();
            quote!(match #call.phase { #(#numbers => { #several })* _ => {} })
        }
    };
    quote!({
        fn reference(#call: &mut ::mpk_runtime::reference::Call<'_>) {
            #(#ports)*
            #(#symbols)*
            #[allow(unused_variables)]
            let #tiles: ::core::ops::Range<usize> = #call.tiles.clone();
            #body
        }
        reference
    })
}
