//! Writes a task: the unit struct, its `Op` and `Task`, the proof of its parameter block, its reference.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::block::Block;
use super::model::{Body, Collective, ElemSpec, ParamType, Port, PortKind, Role, Source, Task};
use super::reference;

/// Rows a task takes if it does not say.
const TOKENS: usize = 16;
/// Alignment of a scratch region if it does not say.
const ALIGN: usize = 16;

/// The expansion of a task without errors.
pub fn task(task: &Task, roles: &[(Role, usize)]) -> TokenStream {
    let name = task.name.to_string();
    let block = Block::of(task);
    let signature = signature(task);
    let roles = roles.iter().map(|(role, groups)| {
        let (kind, groups) = (role_kind(*role), *groups as u32);
        quote!(::mpk_runtime::task::Role { kind: #kind, groups: #groups })
    });
    let align = task.options.align.map_or(ALIGN, |(align, _)| align);
    let scratch = task.options.scratch.iter().map(|region| {
        let (name, len) = (region.name.to_string(), region.len);
        let elem = format_ident!("{}", region.elem.variant());
        quote!(::mpk_runtime::task::Region { name: #name, elem: ::mpk_runtime::shape::Elem::#elem, len: #len, align: #align })
    });
    let tokens = task.options.tokens.map_or(TOKENS, |(tokens, _)| tokens);
    let (grid, once) = (task.options.grid.is_some(), task.options.once.is_some());
    let fuses = &task.options.fuses;
    let bodies = task.bodies.iter().filter_map(body);
    let streams = task.streams();
    let phases = task.reference.as_ref().map_or(1, |r| r.phases.len());
    let (file, block_value, reference) = (&task.file, block.value(), reference::function(task));
    let proof = block.proof();
    let def = quote!(::mpk_runtime::task::TaskDef {
        name: #name,
        signature: #signature,
        roles: &[#(#roles),*],
        scratch: &[#(#scratch),*],
        tokens: #tokens,
        grid: #grid,
        once: #once,
        // Through the type, so that the compiler checks that each is an op.
        fuses: &[#(<#fuses as ::mpk_runtime::task::Op>::DEF),*],
        block: #block_value,
        bodies: &[#(#bodies),*],
        streams: &[#(#streams),*],
        reference: #reference,
        phases: #phases,
        file: #file,
    });
    let item = item(task, &def);
    quote!(#item #proof)
}

/// The expansion of a task with errors: paths to it resolve, it fits everywhere, and nothing of its author is compiled, so
/// that no second error follows.
pub fn broken(task: &Task) -> TokenStream {
    let (name, file) = (task.name.to_string(), &task.file);
    let def = quote!(::mpk_runtime::task::TaskDef {
        name: #name,
        signature: ::mpk_runtime::shape::Signature {
            name: #name,
            ports: &[],
            tiles: ::mpk_runtime::shape::Tiles {
                axis: ::mpk_runtime::shape::Expr::Num(1),
                width: ::mpk_runtime::shape::Expr::Num(1),
            },
            collective: ::core::option::Option::None,
            additive: &[],
            broken: true,
        },
        roles: &[],
        scratch: &[],
        tokens: #TOKENS,
        grid: false,
        once: false,
        fuses: &[],
        block: ::mpk_runtime::task::Block { size: 0, fields: &[], cpp: "" },
        bodies: &[],
        streams: &[],
        reference: |_| {},
        phases: 1,
        file: #file,
    });
    item(task, &def)
}

fn item(task: &Task, def: &TokenStream) -> TokenStream {
    let Task { attributes, visibility, name, .. } = task;
    let text = name.to_string();
    let docs = if attributes.iter().any(|a| a.path().is_ident("doc")) {
        None
    } else {
        let text = format!("The task `{name}`.");
        Some(quote!(#[doc = #text]))
    };
    // Braces, since a unit struct would also be a pattern: `let add = …` in the same module would not bind.
    quote! {
        #docs
        #(#attributes)*
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug)]
        #visibility struct #name {}

        impl ::mpk_runtime::task::Task for #name {
            const TASK: ::mpk_runtime::task::TaskDef = #def;
        }

        impl ::mpk_runtime::task::Op for #name {
            const DEF: ::mpk_runtime::task::OpDef =
                ::mpk_runtime::task::OpDef { name: #text, stages: &[&<#name as ::mpk_runtime::task::Task>::TASK] };
        }
    }
}

fn signature(task: &Task) -> TokenStream {
    let name = task.name.to_string();
    let ports = task.ports.iter().map(port);
    let (axis, width) = match &task.options.tiles {
        Some((axis, width)) => (quote!(#axis), quote!(#width)),
        // A grid-wide task is not cut: it has one instance on each worker.
        None => (quote!(::mpk_runtime::shape::Expr::Num(1)), quote!(::mpk_runtime::shape::Expr::Num(1))),
    };
    let collective = match task.options.collective {
        None => quote!(::core::option::Option::None),
        Some(Collective::Sum) => quote!(::core::option::Option::Some(::mpk_runtime::shape::Collective::Sum)),
        Some(Collective::Gather) => quote!(::core::option::Option::Some(::mpk_runtime::shape::Collective::Gather)),
    };
    let additive = task.options.additive.iter().map(Ident::to_string);
    quote!(::mpk_runtime::shape::Signature {
        name: #name,
        ports: &[#(#ports),*],
        tiles: ::mpk_runtime::shape::Tiles { axis: #axis, width: #width },
        collective: #collective,
        additive: &[#(#additive),*],
        broken: false,
    })
}

fn port(port: &Port) -> TokenStream {
    let Port { kind, optional, shape, .. } = port;
    let name = port.name.to_string();
    let kind = match kind {
        PortKind::In => quote!(In),
        PortKind::Out => quote!(Out),
        PortKind::Weight => quote!(Weight),
        PortKind::State { monotonic } => quote!(State { monotonic: #monotonic }),
        PortKind::Rows => quote!(Rows),
        PortKind::Param(ParamType::F32) => quote!(Param(::mpk_runtime::shape::ParamType::F32)),
        PortKind::Param(ParamType::U32) => quote!(Param(::mpk_runtime::shape::ParamType::U32)),
        PortKind::Param(ParamType::Rope) => quote!(Param(::mpk_runtime::shape::ParamType::Rope)),
        PortKind::TaskOffset => quote!(TaskOffset),
    };
    let elem = match &port.elem {
        Some(ElemSpec::Var(var)) => {
            let var = var.to_string();
            quote!(Var(#var))
        }
        spec => {
            // Ports that are no arrays have no elements; any type will do.
            let elem = if let Some(ElemSpec::Is(elem)) = spec { elem.variant() } else { "U32" };
            let elem = format_ident!("{elem}");
            quote!(Is(::mpk_runtime::shape::Elem::#elem))
        }
    };
    quote!(::mpk_runtime::shape::Port {
        name: #name,
        kind: ::mpk_runtime::shape::PortKind::#kind,
        optional: #optional,
        elem: ::mpk_runtime::shape::ElemSpec::#elem,
        shape: &[#(#shape),*],
    })
}

fn role_kind(role: Role) -> TokenStream {
    let variant = format_ident!("{}", role.variant());
    quote!(::mpk_runtime::task::RoleKind::#variant)
}

fn body(body: &Body) -> Option<TokenStream> {
    let role = role_kind(body.role()?);
    let (file, line) = (&body.text.file, body.text.line as u32);
    let text = &body.text.text;
    let text = match &body.source {
        Source::Inline => quote!(#text),
        // The bytes are not used: including them makes cargo build again when the file changes.
        Source::File(path) => {
            let path = path.to_string_lossy();
            quote!({ const _: &[u8] = ::core::include_bytes!(#path); #text })
        }
        Source::Unread(literal) => quote!(::core::include_str!(#literal)),
    };
    Some(quote!(::mpk_runtime::task::Body { role: #role, text: #text, file: #file, line: #line }))
}
