//! From tokens to the tree: the header, `dims` and statements.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Attribute, Expr, Ident, LitStr, Pat, Result, Token, braced, bracketed, parenthesized, token};

use super::ast::{Arm, Block, Chain, DimDef, If, Item, Layer, Let, Match, Model, Otherwise, Poly, Stmt};
use super::poly::poly;
use crate::errors::{Errors, closest};

/// Reads a model. What can't be read is reported and skipped, so that one run finds all errors; `None` if not even the
/// header can be read.
pub fn parse(tokens: TokenStream, errors: &mut Errors) -> Option<Model> {
    let mut model = None;
    let whole = |input: ParseStream| {
        let header = Header::parse(input)?;
        model = Some(Reader { errors, lost: Vec::new() }.model(input, header)?);
        Ok(())
    };
    if let Err(error) = whole.parse2(tokens)
        // Tokens that were skipped on an earlier error are no second one.
        && (model.is_none() || errors.is_empty())
    {
        errors.push(error);
    }
    model
}

/// What stands before the braces.
struct Header {
    attrs: Vec<Attribute>,
    vis: syn::Visibility,
    name: Ident,
    cfg: Ident,
    config: syn::Type,
}

impl Header {
    fn parse(input: ParseStream) -> Result<Header> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let keyword = input.call(Ident::parse_any)?;
        if keyword != "model" {
            return Err(syn::Error::new(keyword.span(), "expected `model`, as in `pub model Name(cfg: Config) { … }`"));
        }
        let name = input.parse()?;
        let config = |input: ParseStream| {
            let content;
            parenthesized!(content in input);
            let cfg = content.parse()?;
            content.parse::<Token![:]>()?;
            Ok((cfg, content.parse()?))
        };
        let (cfg, config) = like(config(input), "expected the config of the model, as in `pub model Name(cfg: Config) { … }`")?;
        Ok(Header { attrs, vis, name, cfg, config })
    }
}

/// Reads what may hold errors of its own.
pub(super) struct Reader<'e> {
    pub(super) errors: &'e mut Errors,
    /// Names of values whose `let` can't be read.
    lost: Vec<Ident>,
}

impl Reader<'_> {
    fn model(&mut self, input: ParseStream, header: Header) -> Result<Model> {
        let Header { attrs, vis, name, cfg, config } = header;
        let content;
        braced!(content in input);
        let mut dims = Vec::new();
        let before = self.errors.len();
        if is_word(&content, "dims") {
            let word: Ident = content.parse()?;
            if !content.peek(token::Brace) {
                self.errors.syntax(word.span(), "dimensions are defined by `dims { H = hidden_size, I = intermediate_size }`");
                skip_until(&content, |input| input.peek(token::Brace));
            }
            if content.peek(token::Brace) {
                let list;
                braced!(list in content);
                dims = self.dims(&list);
            }
        }
        let all_dims = self.errors.len() == before;
        let body = Block { stmts: self.stmts(&content) };
        Ok(Model { attrs, vis, name, cfg, config, dims, all_dims, lost: std::mem::take(&mut self.lost), body })
    }

    fn dims(&mut self, input: ParseStream) -> Vec<DimDef> {
        self.list(input, |reader, input| {
            let name = input.parse()?;
            let value = input.parse::<Token![=]>().and_then(|_| poly(input)).unwrap_or_else(|error| {
                // The name is kept, so that its uses are no errors of their own.
                reader.errors.push(error);
                skip_until(input, |input| is_punct(input, ','));
                Poly::Num(0)
            });
            Ok(DimDef { name, value })
        })
    }

    /// Items between commas, to the end of `input`. An item that can't be read is reported and skipped.
    pub(super) fn list<T>(&mut self, input: ParseStream, mut item: impl FnMut(&mut Self, ParseStream) -> Result<T>) -> Vec<T> {
        let mut items = Vec::new();
        while !input.is_empty() {
            match item(self, input) {
                Ok(item) => {
                    items.push(item);
                    if !input.is_empty() && !input.peek(Token![,]) {
                        self.errors.push(input.error("expected `,`"));
                        // What follows is the next item, or the rest of one that can't be read.
                        if !(input.peek(syn::Ident) && input.peek2(Token![=])) {
                            skip_until(input, |input| is_punct(input, ','));
                        }
                    }
                }
                Err(error) => {
                    self.errors.push(error);
                    skip_until(input, |input| is_punct(input, ','));
                }
            }
            // Present unless the list has ended.
            let _ = input.parse::<Option<Token![,]>>();
        }
        items
    }

    fn block(&mut self, input: ParseStream) -> Result<Block> {
        let content;
        braced!(content in input);
        Ok(Block { stmts: self.stmts(&content) })
    }

    fn stmts(&mut self, input: ParseStream) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        while !input.is_empty() {
            match self.stmt(input) {
                Ok((stmt, braced)) => {
                    stmts.push(stmt);
                    if !(braced || input.is_empty() || input.peek(Token![;])) {
                        self.no_end(input);
                    }
                }
                Err(error) => {
                    self.errors.push(error);
                    skip_stmt(input);
                }
            }
            let _ = input.parse::<Option<Token![;]>>();
        }
        stmts
    }

    /// Reports a statement that goes on with something else than `->` or `+`. A word is the next one.
    fn no_end(&mut self, input: ParseStream) {
        match input.cursor().ident() {
            Some((word, _)) => {
                let what = format!("expected `;` or `->` before `{word}`\nhelp: end the statement before it with `;`");
                self.errors.syntax(word.span(), what);
            }
            None => {
                self.errors.push(input.error("expected `->`, `+` or `;`"));
                skip_stmt(input);
            }
        }
    }

    /// A statement, and whether its block ends it, so that it needs no `;`.
    fn stmt(&mut self, input: ParseStream) -> Result<(Stmt, bool)> {
        if input.peek(Token![let]) {
            return Ok((Stmt::Let(self.let_(input)?), false));
        }
        if is_word(input, "layer") && input.peek2(syn::Ident::peek_any) {
            return Ok((Stmt::Layer(self.layer(input)?), true));
        }
        if is_word(input, "extra") && input.peek2(LitStr) {
            input.parse::<Ident>()?;
            let mut names = vec![input.parse()?];
            while input.parse::<Option<Token![,]>>()?.is_some() && input.peek(LitStr) {
                names.push(input.parse()?);
            }
            return Ok((Stmt::Extra(names), false));
        }
        if let (Some(word), true) = (input.cursor().ident().map(|(word, _)| word), input.peek2(syn::Ident)) {
            // No statement has two words side by side but those above.
            let what = match closest(&word.to_string(), ["layer", "residual", "let", "extra"]) {
                Some("residual") => format!("`{word}` and no block\nhelp: a residual is added to a block: `residual {{ … }}`"),
                Some(near) => format!("no statement begins with `{word}`\nhelp: did you mean `{near}`?"),
                None => String::new(),
            };
            if !what.is_empty() {
                return Err(syn::Error::new(word.span(), what));
            }
        }
        let chain = self.chain(input)?;
        let braced = matches!(chain.steps.last().unwrap_or(&chain.first), Item::Residual(..) | Item::If(_) | Item::Match(_));
        Ok((Stmt::Chain(chain), braced))
    }

    fn let_(&mut self, input: ParseStream) -> Result<Let> {
        input.parse::<Token![let]>()?;
        let tuple = input.peek(token::Paren);
        let names = if tuple {
            let content;
            parenthesized!(content in input);
            self.list(&content, |_, input| input.parse())
        } else {
            vec![input.parse()?]
        };
        let chain = input.parse::<Token![=]>().and_then(|_| self.chain(input));
        match chain {
            Ok(chain) => Ok(Let { names, tuple, chain }),
            Err(error) => {
                self.lost.extend(names);
                Err(error)
            }
        }
    }

    fn layer(&mut self, input: ParseStream) -> Result<Layer> {
        let keyword = input.parse::<Ident>()?.span();
        let mut path = input.call(Ident::parse_any)?.to_string();
        while input.parse::<Option<Token![.]>>()?.is_some() {
            path = format!("{path}.{}", input.call(Ident::parse_any)?);
        }
        let range = |input: ParseStream| {
            let content;
            bracketed!(content in input);
            let index = content.parse()?;
            content.parse::<Token![in]>()?;
            Ok((index, content.parse()?))
        };
        let (index, range): (_, Expr) =
            like(range(input), "expected the layers, as in `layer model.layers[i in 0..cfg.num_hidden_layers]`")?;
        let span = range.span();
        let Expr::Range(syn::ExprRange { start: Some(start), end: Some(end), limits: syn::RangeLimits::HalfOpen(_), .. }) = range
        else {
            return Err(syn::Error::new(span, "expected a range of layers with both ends, as in `0..cfg.num_hidden_layers`"));
        };
        Ok(Layer { keyword, path, index, start: *start, end: *end, body: self.block(input)? })
    }

    /// A chain: `+` binds tighter than `->`.
    pub(super) fn chain(&mut self, input: ParseStream) -> Result<Chain> {
        let first = self.item(input)?;
        let mut added = Vec::new();
        while input.peek(Token![+]) {
            let plus = input.parse::<Token![+]>()?.span();
            added.push((plus, self.item(input)?));
        }
        let mut steps = Vec::new();
        while input.parse::<Option<Token![->]>>()?.is_some() {
            steps.push(self.item(input)?);
            if input.peek(Token![+]) {
                return Err(input.error(
                    "`+` after `->` reads two ways\nhelp: put the chain in parentheses, `(a -> op) + b`, or name it with `let`",
                ));
            }
        }
        Ok(Chain { first, added, steps })
    }

    fn item(&mut self, input: ParseStream) -> Result<Item> {
        if input.peek(token::Paren) {
            let content;
            parenthesized!(content in input);
            let chain = self.chain(&content)?;
            return if content.is_empty() {
                Ok(Item::Group(Box::new(chain)))
            } else {
                Err(content.error("expected `->` or `)`"))
            };
        }
        if is_word(input, "residual") && input.peek2(token::Brace) {
            let keyword = input.parse::<Ident>()?.span();
            return Ok(Item::Residual(keyword, self.block(input)?));
        }
        if input.peek(Token![if]) {
            return Ok(Item::If(self.if_(input)?));
        }
        if input.peek(Token![match]) {
            return Ok(Item::Match(self.match_(input)?));
        }
        if input.peek(syn::Ident)
            || input.peek(Token![::])
            || input.peek(Token![crate])
            || input.peek(Token![super])
            || input.peek(Token![self])
        {
            return Ok(Item::Op(self.op(input)?));
        }
        Err(input.error("expected an op, a named value, `residual`, `if`, `match` or a chain in parentheses"))
    }

    fn if_(&mut self, input: ParseStream) -> Result<If> {
        let keyword = input.parse::<Token![if]>()?.span();
        let cond = input.call(Expr::parse_without_eager_brace)?;
        let then = self.block(input)?;
        let otherwise = match input.parse::<Option<Token![else]>>()? {
            None => None,
            Some(_) if input.peek(Token![if]) => Some(Otherwise::If(Box::new(self.if_(input)?))),
            Some(_) => Some(Otherwise::Block(self.block(input)?)),
        };
        Ok(If { keyword, cond, then, otherwise })
    }

    fn match_(&mut self, input: ParseStream) -> Result<Match> {
        let keyword = input.parse::<Token![match]>()?.span();
        let on = input.call(Expr::parse_without_eager_brace)?;
        let content;
        braced!(content in input);
        let mut arms = Vec::new();
        while !content.is_empty() {
            let pat = content.call(Pat::parse_multi_with_leading_vert)?;
            let guard = content.parse::<Option<Token![if]>>()?.map(|_| content.parse()).transpose()?;
            content.parse::<Token![=>]>()?;
            let body = if content.peek(token::Brace) {
                self.block(&content)?
            } else {
                Block { stmts: vec![Stmt::Chain(self.chain(&content)?)] }
            };
            arms.push(Arm { pat, guard, body });
            content.parse::<Option<Token![,]>>()?;
        }
        Ok(Match { keyword, on, arms })
    }
}

/// Whether the next token is this word.
pub(super) fn is_word(input: ParseStream, word: &str) -> bool {
    input.cursor().ident().is_some_and(|(ident, _)| ident == word)
}

/// Skips to where `stop` holds at this depth, or to the end.
fn skip_until(input: ParseStream, stop: impl Fn(ParseStream) -> bool) {
    while !input.is_empty() && !stop(input) && input.parse::<TokenTree>().is_ok() {}
}

/// The value, or an error that says what was expected, at the same place.
fn like<T>(result: Result<T>, expected: &str) -> Result<T> {
    result.map_err(|error| syn::Error::new(error.span(), expected))
}

/// Skips what is left of a statement: to a `;`, or over a block that no chain goes on from.
fn skip_stmt(input: ParseStream) {
    while !input.is_empty() && !is_punct(input, ';') {
        let block = input.peek(token::Brace);
        if input.parse::<TokenTree>().is_err() || (block && !input.peek(Token![->]) && !input.peek(Token![else])) {
            return;
        }
    }
}

fn is_punct(input: ParseStream, c: char) -> bool {
    input.cursor().punct().is_some_and(|(punct, _)| punct.as_char() == c)
}

/// The span of the last token of a path.
pub(super) fn last_span(path: &syn::Path) -> Span {
    path.segments.last().map_or_else(Span::call_site, |s| s.ident.span())
}
