//! Reading and checking as a library: what is understood, what is reported, and that nothing makes it panic.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::ast::{Given, Item, Model, Shard, Stmt, Weight};
use crate::errors::Errors;

const DENSE: &str = r#"
    /// Docs.
    pub model Dense(cfg: my::Config) {
        dims { H = hidden, Q = heads * head_dim, KV = 2 * (heads + 1) }
        embedding(model.embed: [V, H]);
        layer model.layers[i in 0..cfg.layers] {
            residual { norm(input: [H], eps = cfg.eps) -> linear(attn.{q: [Q, H], k: [KV, H]}, bias = cfg.bias, shard = column) }
            let (a, b) = ops::split;
            if cfg.is_moe(i) { a + b -> moe(mlp.experts[0..E].{gate, up}: [M, H], route = b) } else if i == 0 { a } else { b }
            extra "inv_freq";
        }
        head(tied(lm_head, model.embed): [V, H], y = f32) -> argmax
    }
"#;

fn read(source: &str) -> (Option<Model>, Vec<String>) {
    let mut errors = Errors::new();
    let model = source.parse().map(|tokens| super::parse::parse(tokens, &mut errors)).unwrap_or_default();
    (model, errors.messages())
}

fn problems(body: &str) -> Vec<String> {
    let mut errors = Errors::new();
    let source = format!("model M(cfg: C) {{ dims {{ H = hidden, I = inner }} {body} }}");
    let model = super::parse::parse(source.parse().unwrap(), &mut errors).unwrap();
    super::check::check(&model, &mut errors);
    errors.messages()
}

#[test]
fn a_model_is_read() {
    let (model, errors) = read(DENSE);
    assert!(errors.is_empty(), "{errors:?}");
    let model = model.unwrap();
    assert_eq!((model.name.to_string(), model.attrs.len(), model.dims.len()), ("Dense".into(), 1, 3));
    assert_eq!(model.dims[2].value.to_string(), "2 * (heads + 1)");
    let [Stmt::Chain(_), Stmt::Layer(layer), Stmt::Chain(head)] = model.body.stmts.as_slice() else { panic!() };
    assert_eq!(layer.path, "model.layers");
    let [Stmt::Chain(residual), Stmt::Let(split), Stmt::Chain(choice), Stmt::Extra(_)] = layer.body.stmts.as_slice() else {
        panic!()
    };
    assert!(split.tuple && split.names.len() == 2);
    assert!(matches!(choice.first, Item::If(_)));
    let Item::Residual(_, block) = &residual.first else { panic!() };
    let [Stmt::Chain(chain)] = block.stmts.as_slice() else { panic!() };
    let Item::Op(linear) = &chain.steps[0] else { panic!() };
    assert_eq!(linear.shard, Shard::Column);
    assert!(matches!(&linear.named[0].value, Given::Expr(_)));
    let names: Vec<_> = linear.weight.iter().flat_map(Weight::modules).map(|m| m.0.to_string()).collect();
    assert_eq!(names, ["attn.q", "attn.k"]);
    let Item::Op(head) = &head.first else { panic!() };
    // The shape outside is that of both.
    assert!(matches!(&head.weight, Some(Weight::Tied(..))));
    assert!(head.weight.iter().flat_map(Weight::modules).all(|m| m.2.is_some_and(|shape| shape.len() == 2)));
}

#[test]
fn weights_are_told_from_expressions() {
    for (argument, weight) in [
        ("a.b: [H]", true),
        ("a.{b: [H], c: [H]}", true),
        ("tied(a, b): [H]", true),
        ("\"a b\": [H]", true),
        ("x.experts[0..E].w: [H]", true),
        ("cfg.rope()", false),
        ("my::path::<T>::f(cfg, a::b)", false),
        ("Rope { theta: 1.0 }", false),
        ("if cfg.a { 1 } else { 2 }", false),
        ("1", false),
    ] {
        let (model, errors) = read(&format!("model M(cfg: C) {{ op(name = {argument}, other = 1) }}"));
        assert!(errors.is_empty(), "{argument}: {errors:?}");
        let Some(Model { body, .. }) = model else { panic!() };
        let Stmt::Chain(chain) = &body.stmts[0] else { panic!() };
        let Item::Op(op) = &chain.first else { panic!() };
        assert_eq!(op.named.len(), 2, "{argument}");
        assert_eq!(matches!(op.named[0].value, Given::Weight(_)), weight, "{argument}");
    }
}

#[test]
fn several_errors_are_found_in_one_run() {
    let found = problems("embed(a: [X]); b(shard = colum, c: [H -]); if rank == 0 { d } e ->; f(g = hh); let h = 3; f(g = h)");
    for (at, part) in [
        "`shard = column`",
        "a dimension is made of",
        "expected an op",
        "no dimension is named `X`",
        "MPK-E0151",
        "no value is named `hh`",
    ]
    .into_iter()
    .enumerate()
    {
        assert!(found.iter().any(|m| m.contains(part)), "{at}: {found:#?}");
    }
    assert_eq!(found.len(), 7, "{found:#?}");
}

#[test]
fn a_model_with_errors_still_exists() {
    let expanded = super::expand("pub model M(cfg: C) { op(a: [X]) }".parse().unwrap()).to_string();
    assert!(expanded.contains("compile_error") && expanded.contains("struct M") && expanded.contains("Model for M"));
    assert!(super::expand("model".parse().unwrap()).to_string().contains("compile_error"));
}

#[test]
fn a_model_expands_to_checks_and_a_build() {
    let expanded = super::expand(DENSE.replace("[V, ", "[Q, ").replace("0..E", "0..H").replace("[M,", "[Q,").parse().unwrap());
    let file: syn::File = syn::parse2(expanded).unwrap();
    let text = quote::quote!(#file).to_string();
    // One for each op, one for each meeting of ways, for the layer and for the end.
    assert_eq!(text.matches(". check ()").count(), 9);
    assert_eq!(text.matches("Meet :: Ways").count(), 2);
    assert!(text.contains("check_end") && text.contains("Meet :: Layer") && text.contains("check_outs"));
}

/// Every prefix of a model, and every model with one token left out, doubled or put in a group.
#[test]
fn nothing_makes_it_panic() {
    let trees: Vec<TokenTree> = flat(DENSE.parse().unwrap());
    for at in 0..trees.len() {
        let prefix: TokenStream = nest(&trees[..at]);
        super::expand(prefix);
        let mut without = trees.clone();
        without.remove(at);
        super::expand(nest(&without));
        let mut doubled = trees.clone();
        doubled.insert(at, trees[at].clone());
        super::expand(nest(&doubled));
    }
}

/// The tokens with groups opened: brackets stand as marks that [`nest`] reads.
fn flat(tokens: TokenStream) -> Vec<TokenTree> {
    tokens
        .into_iter()
        .flat_map(|tree| match tree {
            TokenTree::Group(group) => {
                let empty = TokenTree::Group(Group::new(group.delimiter(), TokenStream::new()));
                let end = TokenTree::Group(Group::new(Delimiter::None, TokenStream::new()));
                [vec![empty], flat(group.stream()), vec![end]].concat()
            }
            tree => vec![tree],
        })
        .collect()
}

/// The groups of [`flat`] closed again, as far as they have an end.
fn nest(trees: &[TokenTree]) -> TokenStream {
    let mut open = vec![(Delimiter::None, TokenStream::new())];
    let close = |open: &mut Vec<(Delimiter, TokenStream)>| {
        if open.len() > 1
            && let Some((delimiter, inner)) = open.pop()
            && let Some((_, outer)) = open.last_mut()
        {
            outer.extend([TokenTree::Group(Group::new(delimiter, inner))]);
        }
    };
    for tree in trees {
        match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => close(&mut open),
            TokenTree::Group(group) => open.push((group.delimiter(), TokenStream::new())),
            tree => {
                if let Some((_, inner)) = open.last_mut() {
                    inner.extend([tree.clone()]);
                }
            }
        }
    }
    while open.len() > 1 {
        close(&mut open);
    }
    open.pop().map(|(_, tokens)| tokens).unwrap_or_default()
}
