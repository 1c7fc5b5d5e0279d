//! MPK-P0207: a slice of a model is the model less some of its layers.

use super::violation::{Code, Violation};
use crate::graph::{Graph, Node, NodeArg};

/// Checks that a graph built for a range of layers has every op of the full graph but those of the other layers: the same
/// tasks in the same order, with the same weights.
///
/// # Errors
/// The first op that is missing, added or different.
pub fn slice_keeps_head_and_tail(full: &Graph, slice: &Graph) -> Result<(), Violation> {
    let kept = full.ops.iter().filter(|node| node.layer.is_none_or(|layer| slice.layers.contains(&layer)));
    let mut have = slice.ops.iter();
    let mut wanted = kept.enumerate();
    loop {
        let (text, op) = match (wanted.next(), have.next()) {
            (None, None) => return Ok(()),
            (Some((_, want)), Some(have)) if same(full, want, slice, have) => continue,
            (Some((i, want)), Some(have)) => {
                (format!("op {i} is {}, in the full model {} stands there", have.label(), want.label()), i)
            }
            (Some((i, want)), None) => (format!("{} is missing", want.label()), i),
            (None, Some(have)) => (format!("{} is not in the full model", have.label()), slice.ops.len() - 1),
        };
        let text = format!(
            "the slice {:?} of {}: {text}\non the GPU the slice would run without a complaint and give the numbers of another model\nhelp: build slices with the model's own code, cutting only the range of its layers",
            slice.layers, full.model
        );
        return Err(Violation { code: Code::P0207, text, op: Some(op), queue: None });
    }
}

fn same(full: &Graph, a: &Node, slice: &Graph, b: &Node) -> bool {
    let weight = |graph: &Graph, arg: &NodeArg| match arg {
        NodeArg::Weight(w) => graph.weights.get(*w).cloned(),
        _ => None,
    };
    (a.task.name, a.op, a.layer, a.shard) == (b.task.name, b.op, b.layer, b.shard)
        && a.args.len() == b.args.len()
        && a.args.iter().zip(&b.args).all(|(x, y)| weight(full, x) == weight(slice, y))
}
