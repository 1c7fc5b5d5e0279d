//! Writes a task: the unit struct, its `Op` and `Task`, the proof of its parameter block, its reference.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::block::Block;
use super::model::{ALIGN, Body, Collective, ElemSpec, ParamType, Port, PortKind, Source, TOKENS, Task};
use super::{names, reference};
use crate::cpp;
use crate::elem::Elem;
use crate::errors::Errors;
use crate::item::{self, Head};

/// The expansion of a task without errors.
pub fn task(task: &Task, groups: usize) -> TokenStream {
    let name = task.name.to_string();
    let block = Block::of(task);
    let signature = signature(task);
    let groups = groups as u32;
    let align = task.options.align.map_or(ALIGN, |(align, _)| align);
    let scratch = task.options.scratch.iter().map(|region| {
        let (name, len) = (region.name.to_string(), region.len);
        let elem = region.elem.value();
        quote!(::mpk_runtime::task::Region { name: #name, elem: #elem, len: #len, align: #align })
    });
    let tokens = task.options.tokens.map_or(TOKENS, |(tokens, _)| tokens);
    let (grid, once) = (task.options.grid.is_some(), task.options.once.is_some());
    let fuses = &task.options.fuses;
    let bodies = task.consumer().map(body);
    let streams = task.streams();
    let phases = task.reference.as_ref().map_or(1, |r| r.phases.len());
    let (file, block_value, reference) = (&task.file, block.value(), reference::function(task));
    let proof = block.proof();
    let def = quote!(::mpk_runtime::task::TaskDef {
        name: #name,
        signature: #signature,
        roles: &[::mpk_runtime::task::Role { kind: ::mpk_runtime::task::RoleKind::Consumer, groups: #groups }],
        scratch: &[#(#scratch),*],
        tokens: #tokens,
        grid: #grid,
        once: #once,
        // Through the type, so that the compiler checks that each is an op.
        fuses: &[#(<#fuses as ::mpk_runtime::task::Op>::DEF),*],
        block: #block_value,
        bodies: &[#bodies],
        streams: &[#(#streams),*],
        reference: #reference,
        phases: #phases,
        file: #file,
    });
    let (item, cfg) = (item(head(task), &def), item::cfg(&task.attributes));
    quote!(#item #cfg #proof)
}

/// The expansion of a task with errors: paths to it resolve, and it fits everywhere, so that no second error follows. What it
/// names is still used, and the reference compiled if it can be: a wrong one is found in the same run.
pub fn broken(task: &Task) -> TokenStream {
    let (stub, cfg) = (stub(head(task), &task.file), item::cfg(&task.attributes));
    let mut aside = Errors::new();
    names::check(task, &mut aside);
    let known = !task.partial && aside.is_empty() && task.reference.is_some();
    let reference = known
        .then(|| reference::function(task))
        .map(|function| quote!(const _: fn(&mut ::mpk_runtime::reference::Call<'_>) = #function;));
    let fuses = &task.options.fuses;
    quote! {
        #stub
        #cfg
        const _: () = {
            #(const _: ::mpk_runtime::task::OpDef = <#fuses as ::mpk_runtime::task::Op>::DEF;)*
            #reference
        };
    }
}

/// A task of which no more is known than its name.
pub fn stub(head: Head<'_>, file: &str) -> TokenStream {
    item(head, &broken_def(&head.name.to_string(), file))
}

/// A `TaskDef` that fits everywhere.
pub fn broken_def(name: &str, file: &str) -> TokenStream {
    quote!(::mpk_runtime::task::TaskDef {
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
    })
}

fn head(task: &Task) -> Head<'_> {
    let Task { attributes, visibility, name, .. } = task;
    Head { attributes, visibility, name, kind: "task" }
}

fn item(head: Head<'_>, def: &TokenStream) -> TokenStream {
    let name = head.name;
    let op = item::op(head, &quote!(&[&<#name as ::mpk_runtime::task::Task>::TASK]));
    let cfg = item::cfg(head.attributes);
    quote! {
        #op

        #cfg
        impl ::mpk_runtime::task::Task for #name {
            const TASK: ::mpk_runtime::task::TaskDef = #def;
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
            let elem = if let Some(ElemSpec::Is(elem)) = spec { *elem } else { Elem::U32 }.value();
            quote!(Is(#elem))
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

/// The body of the consumer.
fn body(body: &Body) -> TokenStream {
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
    let defines = cpp::defines(&body.text.text);
    quote!(::mpk_runtime::task::Body {
        role: ::mpk_runtime::task::RoleKind::Consumer,
        text: #text,
        file: #file,
        line: #line,
        defines: &[#(#defines),*],
    })
}
