//! An op and its arguments.

use syn::parse::ParseStream;
use syn::{Expr, Ident, Path, Result, Token, parenthesized, token};

use super::ast::{Given, Named, Op, Shard, Weight};
use super::parse::{Reader, is_word, last_span};
use super::weight::{names_weight, weight};
use crate::errors::closest;

const SHARDS: [(&str, Shard); 3] = [("column", Shard::Column), ("row", Shard::Row), ("none", Shard::None)];

/// One argument.
enum Arg {
    Weight(Weight),
    Named(Named),
    Shard(Ident, Shard),
}

impl Reader<'_> {
    pub(super) fn op(&mut self, input: ParseStream) -> Result<Op> {
        let path = input.call(Path::parse_mod_style)?;
        let name = path.segments.last().map_or_else(|| Ident::new("op", last_span(&path)), |s| s.ident.clone());
        let mut op = Op { path, name, called: input.peek(token::Paren), weight: None, named: Vec::new(), shard: Shard::None };
        if !op.called {
            return Ok(op);
        }
        let content;
        parenthesized!(content in input);
        let mut shard: Option<Ident> = None;
        for arg in self.list(&content, |_, input| argument(input)) {
            match arg {
                Arg::Weight(weight) if op.weight.is_none() => op.weight = Some(weight),
                Arg::Weight(weight) => {
                    let span = weight.modules().first().map_or(op.name.span(), |m| m.1);
                    self.errors.syntax(
                        span,
                        "a second weight without a name: only one can go to the first free weight port\n\
                         help: name the port, `port = module.path: [N, K]`, or stack them, `module.{a: [N, K], b: [N, K]}`",
                    );
                }
                Arg::Named(named) => {
                    if op.named.iter().any(|n| n.name == named.name) {
                        self.errors.syntax(named.name.span(), format!("`{}` is given twice", named.name));
                    } else {
                        op.named.push(named);
                    }
                }
                Arg::Shard(word, value) => {
                    if shard.replace(word.clone()).is_some() {
                        self.errors.syntax(word.span(), "`shard` is given twice");
                    }
                    op.shard = value;
                }
            }
        }
        Ok(op)
    }
}

fn argument(input: ParseStream) -> Result<Arg> {
    let named = input.peek(syn::Ident) && input.peek2(Token![=]) && !input.peek2(Token![==]);
    if !named {
        return Ok(Arg::Weight(weight(input)?));
    }
    let name: Ident = input.parse()?;
    input.parse::<Token![=]>()?;
    if name == "shard" {
        let value = shard(input)?;
        return Ok(Arg::Shard(name, value));
    }
    let value = if names_weight(input) { Given::Weight(weight(input)?) } else { Given::Expr(Box::new(input.parse::<Expr>()?)) };
    Ok(Arg::Named(Named { name, value }))
}

fn shard(input: ParseStream) -> Result<Shard> {
    if let Some((_, shard)) = SHARDS.iter().find(|(word, _)| is_word(input, word)) {
        input.parse::<Ident>()?;
        return Ok(*shard);
    }
    let word = input.cursor().ident().map_or(String::new(), |(ident, _)| ident.to_string());
    let help = match closest(&word, SHARDS.map(|(word, _)| word)) {
        Some(near) => format!("help: write `shard = {near}`"),
        None => "help: `column` splits the outputs of the weights over the ranks, `row` the inputs, `none` nothing".into(),
    };
    Err(input.error(format!("expected `column`, `row` or `none` after `shard =`\n{help}")))
}
