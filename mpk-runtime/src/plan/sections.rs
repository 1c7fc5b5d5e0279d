//! A plan as a person reads it: the head, each kind of layer once, the tail.

use super::{PageSource, Plan};
use crate::graph::{NodeArg, OpId};

/// A stretch of ops that is repeated.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// The ops of its first layer, or those between layers.
    pub(super) ops: Vec<OpId>,
    /// The first layer, `None` between layers.
    pub(super) layer: Option<usize>,
    /// How many layers are like it.
    pub(super) times: usize,
}

impl Section {
    /// `layer 0`, or `layers 0 to 35`; empty between layers.
    pub(super) fn title(&self) -> String {
        match (self.layer, self.times) {
            (None, _) => String::new(),
            (Some(layer), 1) => format!("layer {layer}"),
            (Some(layer), times) => format!("layers {layer} to {}", layer + times - 1),
        }
    }
}

/// Cuts the ops into sections: consecutive layers whose ops are alike are one.
pub(super) fn sections(plan: &Plan) -> Vec<Section> {
    let kind = |op: &OpId| (plan.graph.ops[*op].task.name, plan.ops[*op].tiles, plan.ops[*op].weight_bytes);
    let mut sections: Vec<Section> = Vec::new();
    let mut at = 0;
    while at < plan.graph.ops.len() {
        let layer = plan.graph.ops[at].layer;
        let end = at + plan.graph.ops[at..].iter().take_while(|node| node.layer == layer).count();
        let ops: Vec<OpId> = (at..end).collect();
        match sections.last_mut() {
            Some(last)
                if layer.is_some()
                    && last.layer.map(|first| first + last.times) == layer
                    && last.ops.iter().map(kind).eq(ops.iter().map(kind)) =>
            {
                last.times += 1;
            }
            _ => sections.push(Section { ops, layer, times: 1 }),
        }
        at = end;
    }
    sections
}

/// The task of an op, and the weights that it streams: `linear_v3 q_proj + k_proj + v_proj`.
pub(super) fn title(plan: &Plan, op: OpId) -> String {
    let node = &plan.graph.ops[op];
    let mut weights: Vec<String> = Vec::new();
    for (port, arg) in node.task.signature.ports.iter().zip(&node.args) {
        let NodeArg::Weight(weight) = arg else { continue };
        if !node.task.streams.contains(&port.name) {
            continue;
        }
        for source in plan.graph.weights[*weight].sources() {
            let name = source.names.first().map_or("", |name| name.trim_end_matches(".weight"));
            let name = name.rsplit('.').next().unwrap_or(name);
            if !weights.iter().any(|w| w == name) {
                weights.push(name.to_string());
            }
        }
    }
    // Experts are many; the first name says enough.
    match weights.len() {
        0 => node.task.name.to_string(),
        1..=3 => format!("{} {}", node.task.name, weights.join(" + ")),
        _ => format!("{} {} …", node.task.name, weights[0]),
    }
}

/// Bytes that each worker of rank 0 streams for an op.
pub(super) fn bytes_of(plan: &Plan, op: OpId) -> Vec<usize> {
    let workers = plan.queues.iter().take(plan.options.workers);
    workers
        .map(|queue| queue.stream.iter().filter(|s| queue.tasks[s.task].op == op).map(|s| segment_bytes(plan, &s.source)).sum())
        .collect()
}

/// Bytes that each worker of rank 0 streams in a step.
pub(super) fn bytes_by_worker(plan: &Plan) -> Vec<usize> {
    let workers = plan.queues.iter().take(plan.options.workers);
    workers.map(|queue| queue.stream.iter().map(|s| segment_bytes(plan, &s.source)).sum()).collect()
}

fn segment_bytes(plan: &Plan, source: &PageSource) -> usize {
    let PageSource::Static { weight, strips, .. } = source;
    strips * plan.weights[*weight].strip_bytes()
}

/// `15.14 GB`, `384 KB`: decimal units, three digits.
pub(crate) fn size(bytes: usize) -> String {
    let (mut value, mut unit) = (bytes as f64, "B");
    for next in ["KB", "MB", "GB", "TB"] {
        if value < 999.5 {
            break;
        }
        (value, unit) = (value / 1000.0, next);
    }
    let digits = match value {
        _ if unit == "B" => 0,
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// `232,448`.
pub(super) fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 tile`, `1,536 tiles`.
pub(crate) fn plural(n: usize, one: &str) -> String {
    format!("{} {one}{}", grouped(n), if n == 1 { "" } else { "s" })
}
