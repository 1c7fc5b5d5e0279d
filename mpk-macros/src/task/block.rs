//! The parameter block of a task: one list of fields, written as a `repr(C)` struct and as a C++ struct.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::model::{ParamType, PortKind, Task};

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Address,
    Dim,
    F32,
    U32,
    /// Fills up to a multiple of 16 bytes, so that blocks are copied in 16-byte words.
    Padding,
}

impl Kind {
    const fn size(self) -> usize {
        if matches!(self, Kind::Address) { 8 } else { 4 }
    }

    const fn cpp(self) -> &'static str {
        match self {
            Kind::Address => "unsigned long long",
            Kind::F32 => "float",
            Kind::Dim | Kind::U32 | Kind::Padding => "unsigned",
        }
    }

    fn rust(self) -> TokenStream {
        match self {
            Kind::Address => quote!(u64),
            Kind::F32 => quote!(f32),
            Kind::Dim | Kind::U32 | Kind::Padding => quote!(u32),
        }
    }

    /// The variant of `task::FieldKind`; padding has none.
    fn variant(self) -> Option<TokenStream> {
        match self {
            Kind::Address => Some(quote!(Address)),
            Kind::Dim => Some(quote!(Dim)),
            Kind::F32 => Some(quote!(F32)),
            Kind::U32 => Some(quote!(U32)),
            Kind::Padding => None,
        }
    }
}

#[derive(Debug)]
struct Field {
    name: Ident,
    kind: Kind,
    offset: usize,
}

/// The layout.
#[derive(Debug)]
pub struct Block {
    fields: Vec<Field>,
    size: usize,
}

impl Block {
    /// The block of a task: addresses first, then all 32-bit words, so that no padding is needed between them.
    pub fn of(task: &Task) -> Block {
        let mut list: Vec<(Ident, Kind)> = Vec::new();
        let mut words: Vec<(Ident, Kind)> = Vec::new();
        for port in &task.ports {
            match port.kind {
                PortKind::TaskOffset => {}
                PortKind::Param(ParamType::F32) => words.push((port.name.clone(), Kind::F32)),
                PortKind::Param(ParamType::U32) => words.push((port.name.clone(), Kind::U32)),
                _ => list.push((port.name.clone(), Kind::Address)),
            }
        }
        for symbol in task.symbols() {
            // A symbol that is a parameter has its field already.
            if task.port(&symbol.to_string()).is_none() {
                list.push((symbol, Kind::Dim));
            }
        }
        list.extend(words);
        let bytes: usize = list.iter().map(|(_, kind)| kind.size()).sum();
        let size = bytes.next_multiple_of(16);
        list.extend((0..(size - bytes) / 4).map(|i| (format_ident!("pad{i}"), Kind::Padding)));

        let mut offset = 0;
        let fields = list.into_iter().map(|(name, kind)| {
            let field = Field { name, kind, offset };
            offset += kind.size();
            field
        });
        Block { fields: fields.collect(), size }
    }

    /// The C++ struct and what holds its layout.
    fn cpp(&self) -> String {
        let mut text = String::from("struct Block {\n");
        for Field { name, kind, .. } in &self.fields {
            text += &format!("    {} {name};\n", kind.cpp());
        }
        text += &format!("}};\nstatic_assert(sizeof(Block) == {}, \"layout of Block\");\n", self.size);
        for Field { name, offset, .. } in &self.fields {
            text += &format!("static_assert(__builtin_offsetof(Block, {name}) == {offset}, \"layout of Block\");\n");
        }
        text
    }

    /// The value of type `task::Block`.
    pub fn value(&self) -> TokenStream {
        let (size, cpp) = (self.size, self.cpp());
        let fields = self.fields.iter().filter_map(|Field { name, kind, offset }| {
            let (name, kind) = (name.to_string(), kind.variant()?);
            Some(quote!(::mpk_runtime::task::Field {
                name: #name,
                kind: ::mpk_runtime::task::FieldKind::#kind,
                offset: #offset,
            }))
        });
        quote!(::mpk_runtime::task::Block { size: #size, fields: &[#(#fields),*], cpp: #cpp })
    }

    /// The Rust struct, out of sight: it proves that the list above is how `repr(C)` lays it out, which is how C++ does.
    pub fn proof(&self) -> TokenStream {
        let size = self.size;
        let names: Vec<_> = self.fields.iter().map(|f| &f.name).collect();
        let types = self.fields.iter().map(|f| f.kind.rust());
        let offsets = self.fields.iter().map(|f| f.offset);
        quote! {
            const _: () = {
                #[repr(C)]
                #[allow(non_snake_case, dead_code)]
                #[derive(Clone, Copy, ::mpk_runtime::bytemuck::Pod, ::mpk_runtime::bytemuck::Zeroable)]
                #[bytemuck(crate = "::mpk_runtime::bytemuck")]
                struct Block {
                    #(#names: #types,)*
                }
                ::mpk_runtime::static_assertions::const_assert_eq!(::core::mem::size_of::<Block>(), #size);
                #(::mpk_runtime::static_assertions::const_assert_eq!(::core::mem::offset_of!(Block, #names), #offsets);)*
            };
        }
    }
}
