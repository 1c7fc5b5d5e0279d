//! All that a chain, a choice and a weight can be.

#[path = "../../model_ops.rs"]
mod ops;

use mpk_runtime::graph::{Builder, Graph, GraphError, Model, ModelConfig, WeightExpr};
use mpk_runtime::model;
use ops::*;

#[derive(Clone, Copy, serde::Deserialize)]
pub enum Kind {
    Wide,
    Narrow(usize),
}

#[derive(Clone, serde::Deserialize)]
pub struct Config {
    hidden: usize,
    inner: usize,
    experts: usize,
    layers: usize,
    bias: bool,
    kinds: Vec<Kind>,
    tie: bool,
}

impl ModelConfig for Config {
    fn tie_word_embeddings(&self) -> bool {
        self.tie
    }

    fn vocab_size(&self) -> usize {
        16
    }

    fn max_positions(&self) -> usize {
        64
    }
}

const LAST: usize = 4;

mod other {
    pub use super::ops::rmsnorm as norm;
}

model! {
    pub(crate) model Grammar(c: Config) {
        dims { H = hidden, I = inner, HH = 2 * H, E = experts, V = 16 }
        extra "model.unused", "model.\"odd\" {name}";
        embedding("tok embeddings.0": [V, H]);
        let first = other::norm(h.0.ln: [H], eps = 1e-6);
        layer h[l in 1..c.layers] {
            // A choice as a step, and as what a name stands for.
            match c.kinds[l] {
                Kind::Wide => residual { linear_v3(wide: [H, H], bias = c.bias) },
                Kind::Narrow(n) if n > 2 && l != LAST => {
                    residual { linear_v3(narrow.down: [I, H]) -> linear_v3(narrow.up: [H, I], bias = narrow.extra_bias: [H]) }
                }
                Kind::Narrow(_) => {}
            }
            if l == 1 { rmsnorm(one: [H], eps = 1) } else if l == LAST { rmsnorm(last: [H], eps = 0.5) }
            let (a, b) = linear_v3(rows(fused, I, I): [HH + I, H]) -> linear_v3(type.{"a b": [H, 2 * I], c: [H, 2 * I]}) -> halves;
            let chosen = if c.bias { a } else { b };
            (a -> linear_v3(loop.1: [H, H])) + chosen + first -> rmsnorm(tied(p, q): [H], eps = 1e-6);
            let wide = linear_v3(absorb(x.up: [H, I], x.down: [I, H]), shard = none, y = bf16);
            wide + wide;
            extra "unused";
        }
        residual {
            linear_v3(tied(s.{a, b}, t.{a, b}): [I, H], bias = true, shard = column) -> linear_v3(down: [H, 2 * I], shard = row, y = f32)
            -> all_reduce
        }
        -> linear_v3(tied(head, "tok embeddings.0"): [V, H], y = f32) -> argmax
    }
}

fn build(cfg: &Config, ranks: usize) -> Result<Graph, GraphError> {
    let mut builder = Builder::new(Grammar::NAME, ranks, None, cfg.tie);
    let output = Grammar::build(cfg, &mut builder)?;
    Ok(builder.finish(output))
}

fn weight<'g>(graph: &'g Graph, name: &str) -> &'g WeightExpr {
    let found = graph.weights.iter().find(|w| w.sources().iter().any(|s| s.names[0] == name));
    found.unwrap_or_else(|| panic!("no {name} in {:#?}", graph.weights.iter().map(|w| w.sources()).collect::<Vec<_>>()))
}

pub fn main() {
    let kinds = vec![Kind::Narrow(1), Kind::Wide, Kind::Narrow(2), Kind::Narrow(3), Kind::Narrow(3)];
    let cfg = Config { hidden: 64, inner: 32, experts: 4, layers: 5, bias: true, kinds, tie: false };
    let graph = build(&cfg, 2).unwrap();
    assert_eq!(graph.extras[..3], ["model.unused", "model.\"odd\" {name}", "h.1.unused"]);
    assert_eq!(graph.layers, 1..5);

    // What the config chooses is there, and nothing else.
    let count = |layer, op| graph.ops.iter().filter(|o| o.layer == Some(layer) && o.op == op).count();
    assert_eq!((1..5).map(|l| count(l, "linear_v3")).collect::<Vec<_>>(), [5, 4, 6, 4]);
    assert_eq!((1..5).map(|l| count(l, "rmsnorm")).collect::<Vec<_>>(), [2, 1, 1, 2]);
    assert_eq!(weight(&graph, "h.1.wide.bias").shape(), [64]);
    assert_eq!(weight(&graph, "h.3.narrow.extra_bias").shape(), [64]);

    assert_eq!(weight(&graph, "tok embeddings.0.weight").shape(), [16, 64]);
    let rows = weight(&graph, "h.2.fused.weight");
    assert_eq!((rows.shape(), rows.parts(), rows.sources()[0].shape.clone()), (vec![64, 64], vec![32, 32], vec![160, 64]));
    assert_eq!(weight(&graph, "h.2.type.a b.weight").sources()[1].names, ["h.2.type.c.weight"]);
    assert_eq!(weight(&graph, "h.2.loop.1.weight").shape(), [64, 64]);
    assert_eq!(weight(&graph, "h.2.p.weight").sources()[0].names, ["h.2.p.weight"]);
    assert!(matches!(weight(&graph, "h.2.x.up.weight"), WeightExpr::Absorb(..)));

    // Stacks and their biases are split part by part, tied or not.
    assert_eq!(weight(&graph, "s.a.weight").sources()[1].names, ["s.b.weight"]);
    assert!(graph.ties.is_empty());
    assert_eq!(weight(&graph, "s.a.bias").parts(), [16, 16]);
    let tied = build(&Config { tie: true, bias: false, ..cfg.clone() }, 1).unwrap();
    assert_eq!(weight(&tied, "t.a.weight").parts(), [32, 32]);
    let ties: Vec<_> = tied.ties.iter().map(|(copy, of)| (copy.names[0].as_str(), of.names[0].as_str())).collect();
    assert!(ties.contains(&("s.b.weight", "t.b.weight")) && ties.contains(&("h.2.p.weight", "h.2.q.weight")), "{ties:?}");
    assert!(tied.weights.iter().all(|w| w.sources()[0].names[0] != "h.1.wide.bias"));

    let mut slice = Builder::new(Grammar::NAME, 1, Some(2..3), false);
    let output = Grammar::build(&cfg, &mut slice).unwrap();
    assert_eq!(slice.finish(output).layers, 2..3);

    for absurd in [
        Config { layers: usize::MAX, ..cfg.clone() },
        Config { hidden: usize::MAX / 2 + 1, ..cfg.clone() },
        Config { inner: 0, ..cfg.clone() },
    ] {
        assert!(matches!(build(&absurd, 1), Err(GraphError::Config { .. })));
    }
}
