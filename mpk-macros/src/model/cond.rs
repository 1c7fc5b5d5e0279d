//! Conditions depend on the config and the layer only (MPK-E0151): every rank must run the same graph.

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;

use crate::errors::{Code, Errors, Problem};

/// The names that a condition may use.
pub struct Known<'a> {
    pub cfg: &'a Ident,
    pub index: Option<&'a Ident>,
    pub dims: Vec<&'a Ident>,
    /// Names that the pattern of a `match` arm binds.
    pub bound: Vec<String>,
}

impl Known<'_> {
    /// Whether `name` is one of them.
    pub fn has(&self, name: &Ident) -> bool {
        name == self.cfg
            || self.index.is_some_and(|i| name == i)
            || self.dims.contains(&name)
            || self.bound.iter().any(|b| name == b)
    }
}

/// Reports each name in `cond` that is neither config nor layer, or that speaks of ranks.
pub fn check(cond: &impl ToTokens, known: &Known, errors: &mut Errors) {
    scan(cond.to_token_stream(), known, errors);
}

/// Where a condition binds names with `let`.
pub fn binds(cond: &impl ToTokens) -> Option<Span> {
    idents(cond.to_token_stream()).into_iter().find(|name| name == "let").map(|name| name.span())
}

/// Reports each name in a pattern that speaks of ranks.
pub fn check_pattern(pat: &impl ToTokens, errors: &mut Errors) {
    for name in idents(pat.to_token_stream()) {
        if speaks_of_ranks(&name.to_string()) {
            report(&name, errors);
        }
    }
}

/// The names that a pattern may bind.
pub fn bindings(pat: &impl ToTokens) -> Vec<String> {
    idents(pat.to_token_stream()).iter().map(Ident::to_string).filter(|name| name.starts_with(char::is_lowercase)).collect()
}

fn idents(tokens: TokenStream) -> Vec<Ident> {
    tokens
        .into_iter()
        .flat_map(|tree| match tree {
            TokenTree::Ident(ident) => vec![ident],
            TokenTree::Group(group) => idents(group.stream()),
            _ => Vec::new(),
        })
        .collect()
}

fn scan(tokens: TokenStream, known: &Known, errors: &mut Errors) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, tree) in trees.iter().enumerate() {
        let name = match tree {
            TokenTree::Ident(name) => name,
            TokenTree::Group(group) => {
                scan(group.stream(), known, errors);
                continue;
            }
            _ => continue,
        };
        let member = at > 0 && is_punct(&trees[at - 1], '.') && !(at > 1 && is_punct(&trees[at - 2], '.'));
        let prefix = trees.get(at + 1).is_some_and(|t| is_punct(t, ':')) && trees.get(at + 2).is_some_and(|t| is_punct(t, ':'));
        let makro = trees.get(at + 1).is_some_and(|t| is_punct(t, '!')) && trees.get(at + 2).is_some_and(is_delimited);
        let constant = name.to_string().starts_with(char::is_uppercase) && !may_change(&trees, at);
        let allowed = member || prefix || makro || constant || known.has(name) || is_language(name);
        if !allowed || speaks_of_ranks(&name.to_string()) {
            report(name, errors);
        }
    }
}

/// Whether the constant at `at` is asked or followed: then it may be a `static`, whose value is this process's own.
fn may_change(trees: &[TokenTree], at: usize) -> bool {
    let TokenTree::Ident(name) = &trees[at] else { return false };
    let dotted = trees.get(at + 1).is_some_and(|t| is_punct(t, '.')) && !trees.get(at + 2).is_some_and(|t| is_punct(t, '.'));
    // `*` with nothing before it to multiply.
    let is_value = |tree: &TokenTree| !matches!(tree, TokenTree::Punct(_));
    let followed = at > 0 && is_punct(&trees[at - 1], '*') && !(at > 1 && is_value(&trees[at - 2]));
    (dotted || followed) && !name.to_string().chars().any(char::is_lowercase)
}

fn is_punct(tree: &TokenTree, c: char) -> bool {
    matches!(tree, TokenTree::Punct(p) if p.as_char() == c)
}

fn is_delimited(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Group(g) if g.delimiter() != Delimiter::None)
}

/// Keywords and the types of `as`.
fn is_language(name: &Ident) -> bool {
    let name = name.to_string();
    ["true", "false", "as", "if", "else", "match", "bool", "_"].contains(&name.as_str())
        || ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize", "f32", "f64"].contains(&name.as_str())
}

/// `rank`, `world_size`, `tp`, `ep_rank`… The rank of a low-rank matrix (`q_lora_rank`) is a number of the config.
fn speaks_of_ranks(name: &str) -> bool {
    let name = name.to_lowercase();
    let words: Vec<&str> = name.split('_').collect();
    let has = |list: &[&str]| words.iter().any(|w| list.contains(w));
    has(&["world", "tp"]) || (has(&["rank", "ranks", "nranks"]) && !has(&["lora", "low"]))
}

fn report(name: &Ident, errors: &mut Errors) {
    let text = name.to_string();
    let problem = if speaks_of_ranks(&text) {
        Problem::new(Code::E0151, format!("the condition depends on `{text}`"))
    } else {
        Problem::new(Code::E0151, format!("the condition depends on `{text}`, which is neither the config nor the layer"))
            .help("let conditions depend on the config and the layer only; what they need can be a method of the config")
    };
    errors.report(name.span(), problem);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(cond: &str) -> usize {
        let ident = |name| Ident::new(name, Span::call_site());
        let (cfg, i, dim) = (ident("cfg"), ident("i"), ident("E"));
        let known = Known { cfg: &cfg, index: Some(&i), dims: vec![&dim], bound: vec!["n".into()] };
        let mut errors = Errors::new();
        check(&cond.parse::<TokenStream>().unwrap(), &known, &mut errors);
        errors.messages().len()
    }

    #[test]
    fn config_layer_constants_and_methods_are_fine() {
        for cond in [
            "cfg.is_moe(i)",
            "i >= cfg.first_k_dense_replace && i % cfg.moe_layer_freq == 0",
            "cfg.q_lora_rank.is_some()",
            "matches!(cfg.kind, Kind::Sliding | config::Kind::Full)",
            "cfg.layers[i] == Kind::Sliding",
            "i as u32 == LAST || (E > 0 && n != 2)",
            "!(0..cfg.first).contains(&i)",
            "Kind::Sliding.is_wide() && (0..LAST).contains(&(i * LAST))",
        ] {
            assert_eq!(wrong(cond), 0, "{cond}");
        }
    }

    #[test]
    fn ranks_and_unknown_names_are_not() {
        for cond in [
            "ME.load(Relaxed) == 0",
            "i == *ME",
            "matches!(SELF.first(i), true)",
            "rank == 0",
            "cfg.tp_rank == 0",
            "cfg.world_size() > 1",
            "i == crate::RANK",
            "is_first(i)",
            "helpers::leads()",
        ] {
            assert_eq!(wrong(cond), 1, "{cond}");
        }
        assert_eq!(wrong("rank == 0 && matches!(x, Some(_))"), 2);
    }
}
