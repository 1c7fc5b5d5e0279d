//! Reads the block of a task: CUDA C++ by role, and the Rust reference.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{LitStr, Macro, Stmt, Token};

use super::model::{Body, Reference, Role, Source};
use crate::cpp::{Place, Text};
use crate::errors::{Errors, closest};

/// What stands in the block of a task.
#[derive(Default)]
pub struct Bodies {
    pub bodies: Vec<Body>,
    pub reference: Option<Reference>,
    /// Whether something could not be read: it may be what is missing.
    pub lost: bool,
}

/// Reads every body and the reference.
pub fn read(block: &syn::Block, errors: &mut Errors) -> Bodies {
    let Bodies { mut bodies, mut reference, mut lost } = Bodies::default();
    for stmt in &block.stmts {
        let mac = match stmt {
            Stmt::Macro(stmt) => &stmt.mac,
            Stmt::Expr(syn::Expr::Macro(expr), _) => &expr.mac,
            other => {
                errors.syntax(other.span(), "a task is made of `consumer! { … }` and `reference! { … }`");
                continue;
            }
        };
        let Some(name) = errors.take(mac.path.require_ident().cloned()) else { continue };
        if name == "reference" {
            if reference.is_some() {
                errors.syntax(name.span(), "there are two references");
            }
            reference = Some(Reference { span: name.span(), phases: phases(&mac.tokens) });
        } else if Role::named(&name.to_string()).is_none() {
            let names = Role::ALL.iter().map(|role| role.name()).chain(["reference"]);
            let hint = closest(&name.to_string(), names).map_or(String::new(), |near| format!("\nhelp: did you mean `{near}!`?"));
            errors.syntax(name.span(), format!("there is no role `{name}`{hint}"));
            lost = true;
        } else if bodies.iter().any(|body| body.name == name) {
            errors.syntax(name.span(), format!("there are two bodies for `{name}`"));
        } else {
            bodies.push(body(name, mac, errors));
        }
    }
    Bodies { bodies, reference, lost }
}

fn body(name: Ident, mac: &Macro, errors: &mut Errors) -> Body {
    let whole = mac.delimiter.span().join();
    let path = |input: ParseStream| {
        let literal: LitStr = input.parse()?;
        input.parse::<Option<Token![,]>>().map(|_| literal)
    };
    if let Ok(literal) = path.parse2(mac.tokens.clone()) {
        return file(name, &literal, errors);
    }
    let place = Place::of(name.span());
    Body { name, text: Text::from_tokens(mac.tokens.clone(), whole, place.file), source: Source::Inline }
}

/// The body in a file beside the source.
fn file(name: Ident, literal: &LitStr, errors: &mut Errors) -> Body {
    let place = Place::of(literal.span());
    // An editor that gives no paths: leave it to `include_str!`, unchecked.
    let unread = |file| Text::from_file(String::new(), literal.span(), file);
    let Some((path, file)) = place.beside(&literal.value()) else {
        return Body { name, text: unread(place.file), source: Source::Unread(literal.clone()) };
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => Body { name, text: Text::from_file(text, literal.span(), file), source: Source::File(path) },
        Err(error) => {
            errors.syntax(literal.span(), format!("can't read `{file}`: {error}\nhelp: the file stands beside `{}`", place.file));
            Body { name, text: unread(file), source: Source::Unread(literal.clone()) }
        }
    }
}

/// `phase { … } phase { … }`, or one block.
fn phases(tokens: &TokenStream) -> Vec<TokenStream> {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let phases: Option<Vec<TokenStream>> = trees
        .chunks(2)
        .map(|pair| match pair {
            [TokenTree::Ident(word), TokenTree::Group(block)] if word == "phase" && block.delimiter() == Delimiter::Brace => {
                Some(block.stream())
            }
            _ => None,
        })
        .collect();
    phases.filter(|phases| !phases.is_empty()).unwrap_or_else(|| vec![tokens.clone()])
}
