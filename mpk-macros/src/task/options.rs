//! Reads `#[mpk_task(…)]`.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Meta, Token};

use super::model::{Collective, Options, RoleOption, Scratch};
use super::shape::{Shape, constant};
use crate::elem::Elem;
use crate::errors::{Errors, closest};

const NAMES: [&str; 10] = ["roles", "smem", "tiles", "tokens", "collective", "additive", "inherits", "grid", "once", "fuses"];

/// Reads all options; those that can't be read are reported and left out.
pub fn read(tokens: TokenStream, errors: &mut Errors) -> Options {
    let before = errors.len();
    let mut options = Options::default();
    let mut seen: Vec<String> = Vec::new();
    for meta in list(tokens, errors) {
        let name = meta.path().to_token_stream().to_string();
        if seen.contains(&name) {
            errors.syntax(meta.span(), format!("`{name}` is given twice"));
            continue;
        }
        if let Err(error) = option(&name, &meta, &mut options, errors) {
            errors.push(error);
        }
        seen.push(name);
    }
    options.partial = errors.len() > before;
    options
}

fn option(name: &str, meta: &Meta, options: &mut Options, errors: &mut Errors) -> syn::Result<()> {
    match name {
        "roles" => options.roles = roles(meta.require_list()?.tokens.clone(), errors),
        "smem" => smem(meta.require_list()?.tokens.clone(), options, errors),
        "tiles" => options.tiles = tiles(&meta.require_name_value()?.value, errors),
        "tokens" => {
            let value = &meta.require_name_value()?.value;
            options.tokens = Some((constant(value)?, value.span()));
        }
        "collective" => {
            let value = &meta.require_name_value()?.value;
            options.collective = match value.to_token_stream().to_string().as_str() {
                "sum" => Some(Collective::Sum),
                "gather" => Some(Collective::Gather),
                _ => return Err(syn::Error::new(value.span(), "a collective is `sum` or `gather`")),
            };
        }
        "additive" => options.additive = idents(meta)?,
        "inherits" => options.inherits = idents(meta)?,
        "grid" => {
            meta.require_path_only()?;
            options.grid = Some(meta.span());
        }
        "once" => {
            meta.require_path_only()?;
            options.once = Some(meta.span());
        }
        "fuses" => options.fuses = chain.parse2(meta.require_list()?.tokens.clone())?,
        _ => return Err(unknown("option", name, meta, &NAMES)),
    }
    Ok(())
}

/// `name(a, b)`.
fn idents(meta: &Meta) -> syn::Result<Vec<Ident>> {
    let list = Punctuated::<Ident, Token![,]>::parse_terminated.parse2(meta.require_list()?.tokens.clone())?;
    Ok(list.into_iter().collect())
}

/// `a -> b -> c`.
pub fn chain(input: ParseStream) -> syn::Result<Vec<syn::Path>> {
    Ok(Punctuated::<syn::Path, Token![->]>::parse_separated_nonempty_with(input, syn::Path::parse_mod_style)?
        .into_iter()
        .collect())
}

/// What stands between commas, each read by itself: one that can't be read is reported and leaves the others as they are.
fn list(tokens: TokenStream, errors: &mut Errors) -> Vec<Meta> {
    let mut metas = Vec::new();
    let mut rest = tokens.into_iter().peekable();
    while rest.peek().is_some() {
        let mut comma = None;
        let one: TokenStream = rest
            .by_ref()
            .take_while(|tree| {
                comma = matches!(tree, TokenTree::Punct(p) if p.as_char() == ',').then(|| tree.span());
                comma.is_none()
            })
            .collect();
        match comma {
            Some(span) if one.is_empty() => errors.syntax(span, "nothing stands before this `,`\nhelp: take it out"),
            _ => metas.extend(errors.take(syn::parse2(one))),
        }
    }
    metas
}

fn roles(tokens: TokenStream, errors: &mut Errors) -> Vec<RoleOption> {
    let mut roles = Vec::new();
    for meta in list(tokens, errors) {
        let Some(name) = errors.take(meta.path().require_ident().cloned()) else { continue };
        let inner = match &meta {
            Meta::Path(_) => Vec::new(),
            Meta::List(inner) => list(inner.tokens.clone(), errors),
            Meta::NameValue(_) => {
                errors.syntax(meta.span(), format!("a role is `{name}` or `{name}(…)`"));
                continue;
            }
        };
        let mut values = Vec::new();
        for meta in inner {
            let value = meta
                .require_name_value()
                .and_then(|v| Ok((v.path.require_ident()?.clone(), constant(&v.value)?, v.value.span())));
            values.extend(errors.take(value));
        }
        roles.push(RoleOption { name, values });
    }
    roles
}

fn smem(tokens: TokenStream, options: &mut Options, errors: &mut Errors) {
    let mut seen: Vec<String> = Vec::new();
    for meta in list(tokens, errors) {
        let name = meta.path().to_token_stream().to_string();
        if seen.contains(&name) {
            errors.syntax(meta.span(), format!("`{name}` is given twice"));
            continue;
        }
        seen.push(name.clone());
        let result = match name.as_str() {
            "scratch" => meta.require_list().and_then(|list| regions(list.tokens.clone())).map(|r| options.scratch.extend(r)),
            "align" => {
                meta.require_name_value().and_then(|v| Ok((constant(&v.value)?, v.value.span()))).map(|v| options.align = Some(v))
            }
            _ => Err(unknown("part of `smem`", &name, &meta, &["scratch", "align"])),
        };
        errors.take(result);
    }
}

/// `part: [f32; 8 * 16 * 16], counts: [u32; 16]`.
fn regions(tokens: TokenStream) -> syn::Result<Vec<Scratch>> {
    let region = |input: ParseStream| -> syn::Result<Scratch> {
        let name: Ident = input.parse()?;
        input.parse::<Token![:]>()?;
        let array: syn::TypeArray = input.parse()?;
        let elem = array.elem.to_token_stream().to_string();
        let elem =
            Elem::named(&elem).ok_or_else(|| syn::Error::new(array.elem.span(), format!("a region is of {}", Elem::names())))?;
        Ok(Scratch { name, elem, len: constant(&array.len)? })
    };
    let parse = |input: ParseStream| Punctuated::<Scratch, Token![,]>::parse_terminated_with(input, region);
    Ok(parse.parse2(tokens)?.into_iter().collect())
}

/// `N / 16` is the axis `N` in tiles of 16; without a division a tile is one wide.
fn tiles(expr: &syn::Expr, errors: &mut Errors) -> Option<(Shape, Shape)> {
    match Shape::read(expr, errors)? {
        Shape::Div(_, width) if matches!(*width, Shape::Num(0)) => {
            errors.syntax(expr.span(), "tiles of nothing\nhelp: write the extent of a tile, as in `tiles = N / 16`");
            None
        }
        Shape::Div(axis, width) => Some((*axis, *width)),
        axis => Some((axis, Shape::Num(1))),
    }
}

fn unknown(what: &str, name: &str, meta: &Meta, known: &[&str]) -> syn::Error {
    let hint = match closest(name, known.iter().copied()) {
        Some(near) => format!("help: did you mean `{near}`?"),
        None => format!("help: there are `{}`", known.join("`, `")),
    };
    syn::Error::new(meta.path().span(), format!("there is no {what} `{name}`\n{hint}"))
}
