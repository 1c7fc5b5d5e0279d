//! Element types: their names in signatures and models, and what they are in `mpk_runtime::shape`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elem {
    Bf16,
    F32,
    U32,
    U64,
}

/// Each with its name and its size in bytes.
const TABLE: [(Elem, &str, usize); 4] =
    [(Elem::Bf16, "bf16", 2), (Elem::F32, "f32", 4), (Elem::U32, "u32", 4), (Elem::U64, "u64", 8)];

impl Elem {
    /// The type of this name.
    pub fn named(name: &str) -> Option<Elem> {
        TABLE.iter().find(|(_, other, _)| *other == name).map(|(elem, ..)| *elem)
    }

    /// Whether `name` was meant as one: `fp8`, `f16`, `i32`, `e4m3`.
    pub fn resembles(name: &str) -> bool {
        let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let known = ["f", "bf", "fp", "float", "u", "uint", "i", "int", "e4m", "e5m"];
        (letters.len() < name.len() && known.contains(&letters)) || ["half", "float", "double"].contains(&name)
    }

    /// All names, for messages.
    pub fn names() -> String {
        TABLE.map(|(_, name, _)| name).join(", ")
    }

    /// Size in bytes.
    pub fn size(self) -> usize {
        TABLE.iter().find(|(elem, ..)| *elem == self).map_or(0, |(.., size)| *size)
    }

    /// The value of type `shape::Elem`.
    pub fn value(self) -> TokenStream {
        let variant = format_ident!("{self:?}");
        quote!(::mpk_runtime::shape::Elem::#variant)
    }
}
