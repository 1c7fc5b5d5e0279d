//! The ops that a model names, read without its grammar: after an error they are still ops of the author's scope, so that an import
//! is used, and a name that is none is found in the same run.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::{quote, quote_spanned};

/// A constant for each op in `tokens`, the whole of a `model!`.
pub fn ops(tokens: TokenStream) -> TokenStream {
    let mut scan = Scan::default();
    for tree in tokens {
        if let TokenTree::Group(group) = tree
            && group.delimiter() == Delimiter::Brace
        {
            scan.block(group.stream());
        }
    }
    let Scan { ops, values } = scan;
    let mut seen = values;
    let mut out = TokenStream::new();
    for (name, path) in ops {
        let text = path.to_string();
        if !seen.contains(&text) {
            let trait_ = quote_spanned!(name.span()=> ::mpk_runtime::task::Op);
            out.extend(quote!(const _: ::mpk_runtime::task::OpDef = <#path as #trait_>::DEF;));
            seen.push(text);
        }
    }
    out
}

#[derive(Default)]
struct Scan {
    /// The last name of each, and its path.
    ops: Vec<(Ident, TokenStream)>,
    /// Names of `let`.
    values: Vec<String>,
}

impl Scan {
    /// What stands in braces, with the braces in it. Brackets and parentheses hold Rust and weights, and no ops.
    fn block(&mut self, tokens: TokenStream) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        // In the condition of an `if` or `match`, or the pattern of an arm's guard.
        let mut condition = false;
        let mut at = 0;
        while let Some(tree) = trees.get(at) {
            let before = at.checked_sub(1).map(|i| &trees[i]);
            at += 1;
            match tree {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    condition = false;
                    if !before.is_some_and(|tree| is_word(tree, "dims")) {
                        self.block(group.stream());
                    }
                }
                TokenTree::Ident(word) if word == "if" || word == "match" => condition = true,
                TokenTree::Ident(word) if word == "let" => {
                    while let Some(tree) = trees.get(at).filter(|tree| !is_punct(tree, '=')) {
                        self.bind(tree);
                        at += 1;
                    }
                }
                TokenTree::Ident(word) if word == "residual" && trees.get(at).is_some_and(|t| is_group(t, Delimiter::Brace)) => {
                    self.sum(Ident::new("add", word.span()));
                }
                TokenTree::Punct(plus) if plus.as_char() == '+' && !condition => self.sum(Ident::new("add", plus.span())),
                TokenTree::Punct(sign) if sign.as_char() == '>' && before.is_some_and(|tree| is_punct(tree, '=')) => {
                    condition = false;
                }
                TokenTree::Ident(first) if !condition => {
                    let led = at > 2 && is_punct(&trees[at - 3], '-') && is_punct(&trees[at - 2], '>');
                    let member = before.is_some_and(|tree| is_punct(tree, '.'));
                    let (mut name, mut path) = (first.clone(), quote!(#first));
                    while let [a, b, TokenTree::Ident(next), ..] = &trees[at..]
                        && is_punct(a, ':')
                        && is_punct(b, ':')
                    {
                        path.extend(quote!(::#next));
                        name = next.clone();
                        at += 3;
                    }
                    let called = trees.get(at).is_some_and(|tree| is_group(tree, Delimiter::Parenthesis));
                    // Capitals are the patterns of a `match`.
                    if (led || called) && !member && name.to_string().starts_with(char::is_lowercase) {
                        self.ops.push((name, path));
                    }
                }
                _ => {}
            }
        }
    }

    fn sum(&mut self, add: Ident) {
        self.ops.push((add.clone(), quote!(#add)));
    }

    /// Adds the names of a `let`: one, or several in parentheses.
    fn bind(&mut self, tree: &TokenTree) {
        match tree {
            TokenTree::Ident(name) => self.values.push(name.to_string()),
            TokenTree::Group(group) => group.stream().into_iter().for_each(|tree| self.bind(&tree)),
            _ => {}
        }
    }
}

fn is_word(tree: &TokenTree, word: &str) -> bool {
    matches!(tree, TokenTree::Ident(ident) if ident == word)
}

fn is_punct(tree: &TokenTree, c: char) -> bool {
    matches!(tree, TokenTree::Punct(p) if p.as_char() == c)
}

fn is_group(tree: &TokenTree, delimiter: Delimiter) -> bool {
    matches!(tree, TokenTree::Group(g) if g.delimiter() == delimiter)
}
