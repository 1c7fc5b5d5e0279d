//! Weight expressions: module paths of the checkpoint with their shapes.

use proc_macro2::{Delimiter, Ident, Spacing, Span};
use syn::buffer::Cursor;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{LitFloat, LitInt, LitStr, Result, Token, braced, bracketed, parenthesized, token};

use super::ast::Weight;
use super::parse::is_word;
use super::poly::{poly, shape};

const FUNCTIONS: [&str; 3] = ["tied", "rows", "absorb"];

/// Whether the argument that follows is a weight: `tied(…)` and its like, `a.{…}`, or anything with `: [shape]`.
pub fn names_weight(input: ParseStream) -> bool {
    if FUNCTIONS.iter().any(|f| is_word(input, f)) && input.peek2(token::Paren) {
        return true;
    }
    let mut rest = input.cursor();
    let mut after_dot = false;
    while !rest.eof() {
        if let Some((punct, next)) = rest.punct() {
            let double = next.punct().is_some_and(|(p, _)| p.as_char() == ':') && punct.spacing() == Spacing::Joint;
            match punct.as_char() {
                ',' => return false,
                ':' if !double => return true,
                // The second half of `::`.
                ':' => rest = next.punct().map_or(next, |(_, after)| after),
                _ => rest = next,
            }
            after_dot = punct.as_char() == '.';
            continue;
        }
        if after_dot && rest.group(Delimiter::Brace).is_some() {
            return true;
        }
        after_dot = false;
        rest = match rest.token_tree() {
            Some((_, next)) => next,
            None => Cursor::empty(),
        };
    }
    false
}

/// A weight with its shape.
pub fn weight(input: ParseStream) -> Result<Weight> {
    weight_under(input, "", false)
}

/// A weight whose names begin with `prefix`; `in_expert` if it is part of an expert.
fn weight_under(input: ParseStream, prefix: &str, in_expert: bool) -> Result<Weight> {
    let mut weight = match FUNCTIONS.iter().find(|f| is_word(input, f) && input.peek2(token::Paren)) {
        Some(function) => call(input, function)?,
        None => path(input, prefix, in_expert)?,
    };
    if input.parse::<Option<Token![:]>>()?.is_some() {
        weight.give_shape(&shape(input)?);
    }
    Ok(weight)
}

/// `tied(a, b)`, `rows(of, n, …)`, `absorb(a, b)`.
fn call(input: ParseStream, function: &str) -> Result<Weight> {
    input.parse::<Ident>()?;
    let content;
    parenthesized!(content in input);
    let first = Box::new(weight(&content)?);
    content.parse::<Token![,]>()?;
    let made = if function == "rows" {
        let mut rows = vec![poly(&content)?];
        while content.parse::<Option<Token![,]>>()?.is_some() && !content.is_empty() {
            rows.push(poly(&content)?);
        }
        Weight::Rows(first, rows)
    } else {
        let second = Box::new(weight(&content)?);
        content.parse::<Option<Token![,]>>()?;
        if function == "tied" { Weight::Tied(first, second) } else { Weight::Absorb(first, second) }
    };
    if content.is_empty() { Ok(made) } else { Err(content.error("expected `)`")) }
}

/// `a.b`, `a.{b, c}`, `a[0..E].b`.
fn path(input: ParseStream, prefix: &str, in_expert: bool) -> Result<Weight> {
    let mut name = prefix.to_string();
    loop {
        let (part, span) = segment(input)?;
        name.push_str(&part);
        if input.peek(token::Bracket) {
            return experts(input, name, in_expert);
        }
        if input.parse::<Option<Token![.]>>()?.is_none() {
            return Ok(Weight::Module { name, span, shape: None });
        }
        name.push('.');
        if input.peek(token::Brace) {
            return stack(input, &name, in_expert);
        }
    }
}

fn segment(input: ParseStream) -> Result<(String, Span)> {
    if input.peek(syn::Ident::peek_any) {
        let ident = input.call(Ident::parse_any)?;
        return Ok((ident.unraw().to_string(), ident.span()));
    }
    if input.peek(LitStr) {
        let name: LitStr = input.parse()?;
        return Ok((name.value(), name.span()));
    }
    if input.peek(LitInt) {
        let index: LitInt = input.parse()?;
        return Ok((index.to_string(), index.span()));
    }
    // `h.0.1` lexes as a float.
    if input.peek(LitFloat) {
        let indices: LitFloat = input.parse()?;
        return Ok((indices.to_string(), indices.span()));
    }
    Err(input.error("expected the path of a weight, `module.path: [N, K]`, or `name = value`"))
}

fn stack(input: ParseStream, prefix: &str, in_expert: bool) -> Result<Weight> {
    let content;
    let brace = braced!(content in input);
    let mut members = Vec::new();
    while !content.is_empty() {
        members.push(weight_under(&content, prefix, in_expert)?);
        if content.is_empty() {
            break;
        }
        content.parse::<Token![,]>()?;
    }
    if members.is_empty() {
        return Err(syn::Error::new(brace.span.join(), "a stack without weights"));
    }
    Ok(Weight::Stack(members))
}

fn experts(input: ParseStream, base: String, in_expert: bool) -> Result<Weight> {
    if in_expert {
        return Err(input.error("experts of experts are not known"));
    }
    let content;
    bracketed!(content in input);
    let start: LitInt = content.parse()?;
    if start.base10_parse::<u64>()? != 0 {
        return Err(syn::Error::new(start.span(), "experts are counted from 0: write `[0..E]`"));
    }
    content.parse::<Token![..]>()?;
    let count = poly(&content)?;
    if !content.is_empty() {
        return Err(content.error("expected `]`"));
    }
    input.parse::<Token![.]>()?;
    let each = if input.peek(token::Brace) { stack(input, "", true)? } else { path(input, "", true)? };
    Ok(Weight::Experts { base, count, each: Box::new(each) })
}
