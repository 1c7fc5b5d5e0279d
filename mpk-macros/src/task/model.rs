//! A task as parsed: what the checks judge and the expansion writes.

use std::path::PathBuf;

use proc_macro2::{Ident, Span, TokenStream};

use super::shape::Shape;
use crate::cpp::{self, Text};
use crate::elem::Elem;

/// Rows that a task can take, and takes if it does not say.
pub const TOKENS: usize = 16;
/// Alignment of a scratch region if it does not say.
pub const ALIGN: usize = 16;

/// A task.
#[derive(Debug)]
pub struct Task {
    pub attributes: Vec<syn::Attribute>,
    pub visibility: syn::Visibility,
    pub name: Ident,
    pub options: Options,
    pub ports: Vec<Port>,
    /// Whether a port could not be read; what depends on the ports is then not judged.
    pub partial: bool,
    /// Whether a body or the reference could not be read.
    pub lost: bool,
    pub bodies: Vec<Body>,
    pub reference: Option<Reference>,
    /// The file of the declaration, as `crate/relative/path`.
    pub file: String,
}

/// What stands in `#[mpk_task(…)]`.
#[derive(Debug, Default)]
pub struct Options {
    /// Whether an option could not be read; what depends on it is then not judged.
    pub partial: bool,
    pub roles: Vec<RoleOption>,
    pub scratch: Vec<Scratch>,
    pub align: Option<(usize, Span)>,
    pub tiles: Option<(Shape, Shape)>,
    pub tokens: Option<(usize, Span)>,
    pub collective: Option<Collective>,
    pub additive: Vec<Ident>,
    /// Symbols that the task before it in a composite has.
    pub inherits: Vec<Ident>,
    pub grid: Option<Span>,
    pub once: Option<Span>,
    pub fuses: Vec<syn::Path>,
}

/// One entry of `roles(…)`, not yet judged.
#[derive(Debug)]
pub struct RoleOption {
    pub name: Ident,
    /// `groups = 2`, `threads = 128`.
    pub values: Vec<(Ident, usize, Span)>,
}

/// One region of `smem(scratch(…))`.
#[derive(Debug)]
pub struct Scratch {
    pub name: Ident,
    pub elem: Elem,
    pub len: usize,
}

/// What a collective does.
#[derive(Clone, Copy, Debug)]
pub enum Collective {
    Sum,
    Gather,
}

/// The roles of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Consumer,
    Loader,
    Storer,
    Controller,
}

impl Role {
    pub const ALL: [Role; 4] = [Role::Consumer, Role::Loader, Role::Storer, Role::Controller];

    /// The word in `roles(…)`, and of the body's macro.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Consumer => "consumer",
            Role::Loader => "loader",
            Role::Storer => "storer",
            Role::Controller => "controller",
        }
    }

    /// The role of this name.
    pub fn named(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// The element type of a port.
#[derive(Clone, Debug)]
pub enum ElemSpec {
    Is(Elem),
    Var(Ident),
}

/// The type of a `Param`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamType {
    F32,
    U32,
    Rope,
}

/// What a port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortKind {
    In,
    Out,
    Weight,
    State { monotonic: bool },
    Rows,
    Param(ParamType),
    TaskOffset,
}

/// A port.
#[derive(Clone, Debug)]
pub struct Port {
    pub name: Ident,
    pub kind: PortKind,
    pub optional: bool,
    /// Of arrays only.
    pub elem: Option<ElemSpec>,
    pub shape: Vec<Shape>,
}

/// A CUDA C++ body.
#[derive(Debug)]
pub struct Body {
    /// The name of its macro: a role, once it is judged.
    pub name: Ident,
    pub text: Text,
    pub source: Source,
}

/// Where the text of a body was found.
#[derive(Debug)]
pub enum Source {
    /// In the Rust file.
    Inline,
    /// In this file; the build must run again when it changes.
    File(PathBuf),
    /// In the file that the literal names, which could not be read: it is not checked.
    Unread(syn::LitStr),
}

impl Body {
    /// Its role.
    pub fn role(&self) -> Option<Role> {
        Role::named(&self.name.to_string())
    }
}

/// The Rust reference: one block, or one for each phase of a grid-wide task.
#[derive(Debug)]
pub struct Reference {
    pub span: Span,
    pub phases: Vec<TokenStream>,
}

impl Task {
    /// The symbols of all shapes and of the tiles, in the order of reading.
    pub fn symbols(&self) -> Vec<Ident> {
        self.symbols_but(|_| false)
    }

    /// The same without those that stand only in ports that are `left_out`.
    pub fn symbols_but(&self, left_out: impl Fn(&Port) -> bool) -> Vec<Ident> {
        let mut list = Vec::new();
        for shape in self.ports.iter().filter(|port| !left_out(port)).flat_map(|port| &port.shape) {
            shape.symbols(&mut list);
        }
        if let Some((axis, width)) = &self.options.tiles {
            axis.symbols(&mut list);
            width.symbols(&mut list);
        }
        list
    }

    /// The port of this name.
    pub fn port(&self, name: &str) -> Option<&Port> {
        self.ports.iter().find(|port| port.name == name)
    }

    /// The weights that the consumer reads as a stream of pages.
    pub fn streams(&self) -> Vec<String> {
        let names = self.consumer().map_or(Vec::new(), |body| cpp::streams(&body.text.text));
        let weights = self.ports.iter().filter(|port| port.kind == PortKind::Weight);
        weights.map(|port| port.name.to_string()).filter(|name| names.contains(name)).collect()
    }

    /// The body of the consumer.
    pub fn consumer(&self) -> Option<&Body> {
        self.bodies.iter().find(|body| body.role() == Some(Role::Consumer))
    }
}
