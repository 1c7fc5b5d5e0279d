//! Making a plan of a graph.

use super::buffers::{self, Order};
use super::spread::Loads;
use super::tiles::{Tiles, bad_graph, matrix, number, size_error, strip_parts, symbols, too_large};
use super::{
    Counter, OpPlan, Options, Packed, PageSource, Plan, PlanError, Queue, Scope, Segment, Share, State, Trigger, layout,
};
use crate::graph::{Graph, Node, NodeArg, OpId};
use crate::shape::{Elem, ElemSpec};
use crate::step::PAGE_POSITIONS;

/// Most bytes that one tensor, weight or state may take: an address on the device has 47 bits, and so sums stay in 64.
pub(crate) const MOST_BYTES: usize = 1 << 46;
/// Alignment of tensors in a buffer, in bytes.
pub(crate) const TENSOR_ALIGN: usize = 256;
/// Bounds far above any device or model, so that absurd inputs are errors and not allocations.
const MOST_WORKERS: usize = 1024;
const MOST_CONTEXT: usize = 1 << 24;
const MOST_OPS: usize = 1 << 14;
/// Ops × ranks × workers: the proof takes some words of memory for each.
const MOST_SHARES: usize = 1 << 24;

impl Plan {
    /// Plans a decode step of `graph`. The same inputs give the same plan, byte for byte.
    ///
    /// The plan is not proven yet: see [`crate::verify::verify`].
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn new(graph: Graph, options: Options) -> Result<Plan, PlanError> {
        check_options(&graph, &options)?;
        let pages = options
            .context
            .div_ceil(PAGE_POSITIONS)
            .checked_mul(options.slots)
            .ok_or_else(|| unservable("context", options.context, MOST_CONTEXT))?;
        let waits = waits(&graph)?;
        let tiles = graph
            .ops
            .iter()
            .enumerate()
            .map(|(op, node)| {
                check_rows(node, &options)?;
                Tiles::of(&graph, op, &options, pages)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let weights = packed(&graph)?;
        let streams =
            graph.ops.iter().zip(&tiles).map(|(node, tiles)| streams(node, tiles, &weights)).collect::<Result<Vec<_>, _>>()?;
        let states = states(&graph, &options, pages)?;
        let bytes = tensor_bytes(&graph, &options)?;
        let (ring, shared) =
            layout::lay_out(&layout::tasks(&graph)?, options.rows, layout::widest(&graph, &weights), options.shared_memory)?;

        let readers = readers(&graph);
        let (tensors, buffers) = buffers::place(&graph, &Order::of(&graph, &waits), &bytes, &readers);
        let boundary = boundary(&graph, &readers);

        let mut loads = Loads::new(options.workers);
        let mut queue = vec![Queue::default(); options.workers];
        let mut ops = Vec::with_capacity(graph.ops.len());
        let mut counters = Vec::with_capacity(graph.ops.len());
        for (op, node) in graph.ops.iter().enumerate() {
            let runs = if node.task.grid {
                (0..options.workers).map(|w| Some(w..w + 1)).collect()
            } else {
                loads.spread(tiles[op].count)
            };
            let everywhere = buffers::is_collected(&graph, op);
            let (mut shares, mut weight_bytes) = (0, 0);
            for (worker, run) in runs.into_iter().enumerate() {
                let Some(run) = run else { continue };
                let queue = &mut queue[worker];
                let mut streamed = 0;
                for (port, weight) in &streams[op] {
                    let strips = tiles[op].strips(*port, run.clone());
                    let strip_bytes = weights[*weight].strip_bytes();
                    streamed += strips.len() * strip_bytes;
                    queue.stream.push(Segment {
                        task: queue.tasks.len(),
                        port: *port,
                        pages: strips.len() * strip_bytes.div_ceil(ring.page_bytes),
                        source: PageSource::Static { weight: *weight, first_strip: strips.start, strips: strips.len() },
                    });
                }
                queue.tasks.push(Share {
                    op,
                    first: run.start,
                    tiles: run.len(),
                    waits: waits[op].clone(),
                    // The counter on its own rank; filled in for each rank below.
                    triggers: Vec::new(),
                });
                loads.add(worker, streamed);
                weight_bytes += streamed;
                shares += 1;
            }
            ops.push(OpPlan { label: node.label(), tiles: tiles[op].count, weight_bytes });
            counters.push(if everywhere {
                Counter { arrivals: shares * graph.ranks, scope: Scope::Sys }
            } else {
                Counter { arrivals: shares, scope: Scope::Gpu }
            });
        }
        let queues = (0..graph.ranks).flat_map(|rank| queue.iter().map(move |queue| (rank, queue)));
        let queues = queues.map(|(rank, queue)| on_rank(&graph, &counters, queue, rank)).collect();
        Ok(Plan {
            ranks: graph.ranks,
            graph,
            options,
            pages,
            ops,
            tensors,
            buffers,
            states,
            weights,
            counters,
            boundary,
            ring,
            shared,
            queues,
        })
    }
}

/// Checks that options and graph are within the bounds of a plan.
pub(crate) fn check_options(graph: &Graph, options: &Options) -> Result<(), PlanError> {
    let limits = [
        ("workers", options.workers, 1, MOST_WORKERS, "give one worker for each SM of the device"),
        ("rows", options.rows, 1, 16, "a decode step has one row for each sequence, up to 16"),
        ("slots", options.slots, 1, 1024, "the KV cache holds at least one sequence"),
        ("context", options.context, 1, MOST_CONTEXT, "give the positions that a sequence may have"),
        ("ranks", graph.ranks, 1, 64, "give one rank for each GPU"),
        (
            "shared_memory",
            options.shared_memory,
            1,
            1 << 24,
            "give the bytes of shared memory that a block of the device may have",
        ),
    ];
    for (option, value, least, most, help) in limits {
        if !(least..=most).contains(&value) {
            return Err(PlanError::Option { option, value, least, most, help });
        }
    }
    // None of these overflows: all are bounded above, or just below.
    let shares = graph.ops.len().saturating_mul(graph.ranks * options.workers);
    if shares > MOST_SHARES {
        let help = "plan for fewer workers or ranks, or cut the model to some of its layers";
        return Err(PlanError::Option { option: "ops × ranks × workers", value: shares, least: 1, most: MOST_SHARES, help });
    }
    let whole = |what: String| PlanError::Graph { op: graph.model.clone(), what };
    if graph.ops.is_empty() || graph.ops.len() > MOST_OPS {
        return Err(whole(format!("it has {} ops, a plan has 1 to {MOST_OPS}", graph.ops.len())));
    }
    if graph.output >= graph.tensors.len() {
        return Err(whole("its output is a tensor that is not there".to_string()));
    }
    Ok(())
}

fn unservable(option: &'static str, value: usize, most: usize) -> PlanError {
    PlanError::Option { option, value, least: 1, most, help: "plan for less" }
}

fn check_rows(node: &Node, options: &Options) -> Result<(), PlanError> {
    if node.task.tokens >= options.rows {
        return Ok(());
    }
    Err(PlanError::Tokens { op: node.label(), tokens: node.task.tokens, rows: options.rows })
}

/// The ops that each op waits for: those that write what it reads. Checks what all later passes index by.
fn waits(graph: &Graph) -> Result<Vec<Vec<OpId>>, PlanError> {
    let mut written = vec![false; graph.tensors.len()];
    let mut all = Vec::with_capacity(graph.ops.len());
    for (op, node) in graph.ops.iter().enumerate() {
        let mut waits = Vec::new();
        for tensor in node.reads() {
            if !written.get(tensor).copied().unwrap_or(false) {
                return Err(bad_graph(node, &format!("it reads tensor {tensor} before an op writes it")));
            }
            waits.push(graph.tensors[tensor].writer);
        }
        for tensor in node.writes() {
            if graph.tensors.get(tensor).is_none_or(|t| t.writer != op) || written[tensor] {
                return Err(bad_graph(node, &format!("it writes tensor {tensor}, which belongs to another op")));
            }
            written[tensor] = true;
        }
        waits.sort_unstable();
        waits.dedup();
        all.push(waits);
    }
    Ok(all)
}

fn readers(graph: &Graph) -> Vec<Vec<OpId>> {
    let mut readers = vec![Vec::new(); graph.tensors.len()];
    for (op, node) in graph.ops.iter().enumerate() {
        for tensor in node.reads() {
            readers[tensor].push(op);
        }
    }
    readers
}

/// The ops that nobody waits for, and the one that writes the output: every op is before one of them.
fn boundary(graph: &Graph, readers: &[Vec<OpId>]) -> Vec<OpId> {
    let output = graph.tensors[graph.output].writer;
    let last = |(op, node): &(OpId, &Node)| *op == output || node.writes().all(|t| readers[t].is_empty());
    graph.ops.iter().enumerate().filter(last).map(|(op, _)| op).collect()
}

/// The packed form of each weight of `graph`, in the order in which the ops that stream it want its strips.
pub(crate) fn packed(graph: &Graph) -> Result<Vec<Packed>, PlanError> {
    let mut parts = vec![None; graph.weights.len()];
    for node in &graph.ops {
        for (port, arg) in node.task.signature.ports.iter().zip(&node.args) {
            let NodeArg::Weight(weight) = arg else { continue };
            let wanted = strip_parts(&node.task.signature, port);
            match parts.get_mut(*weight) {
                None => return Err(bad_graph(node, "it names a weight that is not there")),
                Some(Some(other)) if *other != wanted => {
                    return Err(bad_graph(node, "it wants the strips of a weight in another order than another op"));
                }
                Some(parts) => *parts = Some(wanted),
            }
        }
    }
    graph.weights.iter().zip(parts).map(|(weight, parts)| pack(weight, parts.unwrap_or(1))).collect()
}

fn pack(weight: &crate::graph::WeightExpr, parts: usize) -> Result<Packed, PlanError> {
    let name = || weight.sources().first().and_then(|s| s.names.first().cloned()).unwrap_or_default();
    let error =
        |why| PlanError::Size { op: name(), what: "its shape".to_string(), why, help: "check the dimensions of the config" };
    let shape = weight.shape();
    let (rows, cols) = matrix(&shape).ok_or_else(|| error("it is too large, or has no dimension"))?;
    if rows == 0 || cols == 0 {
        return Err(error("it is empty"));
    }
    if !rows.is_multiple_of(parts) {
        return Err(error("its rows are no whole number of parts"));
    }
    let mut packed = Packed { rows, cols, fragments: shape.len() > 1, parts, bytes: 0 };
    let bytes = if packed.fragments {
        packed.strips().checked_mul(cols.div_ceil(16)).and_then(|n| n.checked_mul(512))
    } else {
        rows.checked_mul(2)
    };
    packed.bytes = bytes.filter(|n| *n <= MOST_BYTES).ok_or_else(|| error("it is too large"))?;
    Ok(packed)
}

/// The weights that an op streams: port and index of the weight.
fn streams(node: &Node, tiles: &Tiles, weights: &[Packed]) -> Result<Vec<(usize, usize)>, PlanError> {
    let mut streams = Vec::new();
    for name in node.task.streams {
        let Some(port) = node.task.signature.ports.iter().position(|p| p.name == *name) else {
            return Err(bad_graph(node, &format!("its task streams `{name}`, which is no port")));
        };
        match node.args[port] {
            NodeArg::Absent => {}
            NodeArg::Weight(weight) if weights[weight].fragments => {
                if let Some(rows) = tiles.ragged(port) {
                    return Err(PlanError::Strips { op: node.label(), port: name, rows });
                }
                streams.push((port, weight));
            }
            _ => return Err(bad_graph(node, &format!("its task streams `{name}`, which is no matrix"))),
        }
    }
    Ok(streams)
}

fn states(graph: &Graph, options: &Options, pages: usize) -> Result<Vec<State>, PlanError> {
    let mut states = Vec::new();
    for (op, node) in graph.ops.iter().enumerate() {
        for (port, spec) in node.task.signature.ports.iter().enumerate() {
            let held = match node.args[port] {
                NodeArg::State => None,
                NodeArg::Held(tensor) => Some(tensor),
                _ => continue,
            };
            let symbols = symbols(graph, op, options, pages)?;
            let shape = spec.shape.iter().map(|dim| number(node, spec.name, dim, &symbols)).collect::<Result<Vec<_>, _>>()?;
            let elem = elem(graph, node, spec.elem);
            let bytes = shape.iter().try_fold(elem.size(), |n, dim| n.checked_mul(*dim));
            match bytes {
                Some(bytes) if bytes <= MOST_BYTES && bytes > 0 => {
                    let given = |t: crate::graph::TensorId| graph.tensors[t].features().saturating_mul(elem.size());
                    if held.is_some_and(|tensor| given(tensor) < bytes) {
                        let help = "let `tensor_init` give as many features as the state has elements";
                        return Err(size_error(node, spec.name, "it is larger than the value it is given", help));
                    }
                    states.push(State { op, port, shape, elem, held });
                }
                Some(0) => return Err(size_error(node, spec.name, "it is empty", "check the dimensions of the config")),
                _ => return Err(too_large(node, spec.name)),
            }
        }
    }
    Ok(states)
}

/// The element type of a state: its own, or that of an activation of the same type variable; weights are bf16.
fn elem(graph: &Graph, node: &Node, spec: ElemSpec) -> Elem {
    let var = match spec {
        ElemSpec::Is(elem) => return elem,
        ElemSpec::Var(var) => var,
    };
    let mut bound = node.task.signature.ports.iter().zip(&node.args).filter_map(|(port, arg)| match (port.elem, arg) {
        (ElemSpec::Var(v), NodeArg::In(t) | NodeArg::Out(t)) if v == var => Some(graph.tensors[*t].elem),
        _ => None,
    });
    bound.next().unwrap_or(Elem::Bf16)
}

/// Bytes of each tensor for all rows of the step.
fn tensor_bytes(graph: &Graph, options: &Options) -> Result<Vec<usize>, PlanError> {
    let size = |tensor: &crate::graph::Tensor| {
        let bytes = tensor
            .rows
            .checked_mul(options.rows)?
            .checked_mul(super::tiles::sum(&tensor.parts)?)?
            .checked_mul(tensor.elem.size())?;
        bytes.checked_next_multiple_of(TENSOR_ALIGN).filter(|n| *n <= MOST_BYTES)
    };
    graph
        .tensors
        .iter()
        .map(|tensor| {
            size(tensor).ok_or_else(|| match graph.ops.get(tensor.writer) {
                Some(node) => too_large(node, "its output"),
                None => PlanError::Graph { op: graph.model.clone(), what: "a tensor has no writer".to_string() },
            })
        })
        .collect()
}

/// A queue with the triggers of one rank.
fn on_rank(graph: &Graph, counters: &[Counter], queue: &Queue, rank: usize) -> Queue {
    let mut queue = queue.clone();
    for share in &mut queue.tasks {
        let ranks = if counters[share.op].scope == Scope::Sys { 0..graph.ranks } else { rank..rank + 1 };
        share.triggers = ranks.map(|rank| Trigger { rank, counter: share.op }).collect();
    }
    queue
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    fn error(graph: Graph, options: Options) -> PlanError {
        Plan::new(graph, options).unwrap_err()
    }

    #[test]
    fn the_same_inputs_give_the_same_plan() {
        let json = |size| serde_json::to_string(&plan(size, 7, 2)).unwrap();
        assert_eq!(json(SMALL), json(SMALL));
        assert_eq!(json(TWO_RANKS), json(TWO_RANKS));
    }

    #[test]
    fn tiles_are_spread_evenly_and_bytes_even_out() {
        let plan = plan(QWEN3_8B, 132, 1);
        let bytes: Vec<usize> = plan
            .queues
            .iter()
            .map(|q| {
                q.stream
                    .iter()
                    .map(|s| {
                        let PageSource::Static { weight, strips, .. } = s.source;
                        strips * plan.weights[weight].strip_bytes()
                    })
                    .sum()
            })
            .collect();
        let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
        // One tile of the widest op is 384 KB of 115 MB.
        assert!(most - least <= 400 * 1024, "{least} to {most}");
        assert_eq!(bytes.iter().sum::<usize>(), plan.ops.iter().map(|op| op.weight_bytes).sum::<usize>());
        assert!(plan.buffers.len() <= 16, "{:?}", plan.buffers);
        assert_eq!(plan.ring, super::super::Ring { page_bytes: 16384, stages: 11, in_flight: 5 });
    }

    #[test]
    fn absurd_options_are_errors() {
        let all = |change: fn(&mut Options)| {
            let mut options = options(4, 1);
            change(&mut options);
            error(graph(SMALL, None), options)
        };
        let absurd: [fn(&mut Options); 10] = [
            |o| o.workers = 0,
            |o| o.workers = usize::MAX,
            |o| o.rows = 0,
            |o| o.rows = 17,
            |o| o.context = 0,
            |o| o.context = usize::MAX,
            |o| o.slots = 0,
            |o| o.slots = usize::MAX,
            |o| o.shared_memory = 0,
            |o| o.shared_memory = 40_000,
        ];
        for change in absurd {
            assert!(all(change).to_string().contains("help: "));
        }
        let mut wide = graph(Size { layers: 64, ..SMALL }, None);
        wide.ranks = 64;
        assert!(error(wide, options(1024, 1)).to_string().contains("`ops × ranks × workers` is "));
        assert!(all(|o| o.shared_memory = 30_000).to_string().starts_with("MPK-P0204"));
        assert!(all(|o| o.shared_memory = 5000).to_string().starts_with("MPK-E0132"));
    }
}
