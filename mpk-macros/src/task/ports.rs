//! Reads the signature: the ports.

use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{FnArg, GenericArgument, Pat, PathArguments, Type};

use super::model::{ElemSpec, ParamType, Port, PortKind};
use super::shape::Shape;
use crate::elem::Elem;
use crate::errors::{Errors, closest};

const KINDS: [&str; 7] = ["In", "Out", "Weight", "State", "Rows", "Param", "TaskOffset"];

/// Reads every port; those that can't be read are reported and left out.
pub fn read(signature: &syn::Signature, errors: &mut Errors) -> Vec<Port> {
    let mut ports: Vec<Port> = Vec::new();
    for input in &signature.inputs {
        let Some(port) = port(input, errors) else { continue };
        if ports.iter().any(|other| other.name == port.name) {
            errors.syntax(port.name.span(), format!("there are two ports `{}`", port.name));
            continue;
        }
        ports.push(port);
    }
    ports
}

fn port(input: &FnArg, errors: &mut Errors) -> Option<Port> {
    let FnArg::Typed(typed) = input else {
        errors.syntax(input.span(), "a port is `name: Kind<[elem; (dims)]>`");
        return None;
    };
    let Pat::Ident(syn::PatIdent { ident, by_ref: None, mutability: None, subpat: None, .. }) = &*typed.pat else {
        errors.syntax(typed.pat.span(), "a port has a plain name");
        return None;
    };
    let name = ident.clone();
    let (kind, arguments) = generic(&typed.ty, errors)?;
    if kind != "Option" {
        return of_kind(name, &kind, &arguments, errors);
    }
    let [Argument::Type(inner)] = arguments.as_slice() else {
        errors.syntax(typed.ty.span(), "an optional port is `Option<In<…>>` or `Option<Weight<…>>`");
        return None;
    };
    let (kind, arguments) = generic(inner, errors)?;
    let port = of_kind(name, &kind, &arguments, errors)?;
    if !matches!(port.kind, PortKind::In | PortKind::Weight) {
        errors.syntax(inner.span(), format!("a port of kind `{kind}` can't be left out: only `In` and `Weight` can"));
    }
    Some(Port { optional: true, ..port })
}

fn of_kind(name: Ident, kind: &Ident, arguments: &[Argument], errors: &mut Errors) -> Option<Port> {
    let plain = |kind| Some(Port { name: name.clone(), kind, optional: false, elem: None, shape: Vec::new() });
    let text = kind.to_string();
    match text.as_str() {
        "Rows" if arguments.is_empty() => return plain(PortKind::Rows),
        "TaskOffset" if arguments.is_empty() => return plain(PortKind::TaskOffset),
        "Rows" | "TaskOffset" => {
            errors.syntax(kind.span(), format!("`{kind}` has no type arguments"));
            return None;
        }
        "Param" => return plain(PortKind::Param(param(kind, arguments, errors)?)),
        _ => {}
    }
    let (kind_is, rank) = match (text.as_str(), arguments.len()) {
        ("In", 1) => (PortKind::In, 2..=2),
        ("Out", 1) => (PortKind::Out, 2..=2),
        ("Weight", 1) => (PortKind::Weight, 1..=3),
        ("State", 1) => (PortKind::State { monotonic: false }, 1..=6),
        ("State", 2) if arguments[1].is("monotonic") => (PortKind::State { monotonic: true }, 1..=6),
        ("State", _) => {
            errors.syntax(kind.span(), "a state is `State<[elem; (dims)]>` or `State<[elem; (dims)], monotonic>`");
            return None;
        }
        ("In" | "Out" | "Weight", _) => {
            errors.syntax(kind.span(), format!("`{kind}` has one argument, an array: `{kind}<[bf16; (rows, features)]>`"));
            return None;
        }
        _ => {
            let hint = match closest(&text, KINDS) {
                Some(near) => format!("help: did you mean `{near}`?"),
                None => format!("help: a port is one of `{}`", KINDS.join("`, `")),
            };
            errors.syntax(kind.span(), format!("there is no kind of port `{kind}`\n{hint}"));
            return None;
        }
    };
    let (elem, shape) = array(&arguments[0], errors)?;
    if !rank.contains(&shape.len()) {
        let wants =
            if rank.start() == rank.end() { format!("{}", rank.start()) } else { format!("{} to {}", rank.start(), rank.end()) };
        errors.syntax(arguments[0].span(), format!("the shape of `{kind}` has {wants} dimensions, this one has {}", shape.len()));
        return None;
    }
    Some(Port { name, kind: kind_is, optional: false, elem: Some(elem), shape })
}

fn param(kind: &Ident, arguments: &[Argument], errors: &mut Errors) -> Option<ParamType> {
    let found = match arguments {
        [one] if one.is("f32") => Some(ParamType::F32),
        [one] if one.is("u32") => Some(ParamType::U32),
        [one] if one.is("Rope") => Some(ParamType::Rope),
        _ => None,
    };
    if found.is_none() {
        errors.syntax(kind.span(), "a parameter is `Param<f32>`, `Param<u32>` or `Param<Rope>`");
    }
    found
}

/// `[elem; (dims)]`.
fn array(argument: &Argument, errors: &mut Errors) -> Option<(ElemSpec, Vec<Shape>)> {
    let array = match argument {
        Argument::Type(ty) => match &**ty {
            Type::Array(array) => Some(array),
            _ => None,
        },
        Argument::Other(_) => None,
    };
    let Some(array) = array else {
        errors.syntax(argument.span(), "the type of a port is an array, whose length is its shape: `[bf16; (T, K)]`");
        return None;
    };
    let elem = elem(&array.elem, errors);
    let dims: Vec<&syn::Expr> = match &array.len {
        syn::Expr::Tuple(tuple) => tuple.elems.iter().collect(),
        one => vec![one],
    };
    // All dimensions are read before one of them fails the port: every error in one run.
    let shape: Vec<Option<Shape>> = dims.into_iter().map(|dim| Shape::read(dim, errors)).collect();
    Some((elem?, shape.into_iter().collect::<Option<_>>()?))
}

fn elem(ty: &Type, errors: &mut Errors) -> Option<ElemSpec> {
    if let Type::Path(path) = ty
        && let Some(ident) = path.path.get_ident()
    {
        let name = ident.to_string();
        if let Some(elem) = Elem::named(&name) {
            return Some(ElemSpec::Is(elem));
        }
        // A variable in capitals only: otherwise every misspelt type would be one.
        if name.starts_with(|c: char| c.is_ascii_uppercase()) {
            return Some(ElemSpec::Var(ident.clone()));
        }
    }
    errors.syntax(
        ty.span(),
        format!(
            "`{}` is no element type\nhelp: it is one of {}, or a variable that starts with a capital, like `W`",
            ty.to_token_stream(),
            Elem::names()
        ),
    );
    None
}

/// A type argument of a port.
enum Argument {
    Type(Box<Type>),
    Other(Span),
}

impl Argument {
    fn span(&self) -> Span {
        match self {
            Argument::Type(ty) => ty.span(),
            Argument::Other(span) => *span,
        }
    }

    fn is(&self, name: &str) -> bool {
        matches!(self, Argument::Type(ty) if matches!(&**ty, Type::Path(path) if path.path.is_ident(name)))
    }
}

/// `Kind<arguments>`, by its last path segment.
fn generic(ty: &Type, errors: &mut Errors) -> Option<(Ident, Vec<Argument>)> {
    let segment = match ty {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last(),
        _ => None,
    };
    let Some(segment) = segment else {
        errors.syntax(ty.span(), format!("a port is one of `{}`", KINDS.join("`, `")));
        return None;
    };
    let arguments = match &segment.arguments {
        PathArguments::AngleBracketed(list) => list
            .args
            .iter()
            .map(|arg| match arg {
                GenericArgument::Type(ty) => Argument::Type(Box::new(ty.clone())),
                other => Argument::Other(other.span()),
            })
            .collect(),
        _ => Vec::new(),
    };
    Some((segment.ident.clone(), arguments))
}
