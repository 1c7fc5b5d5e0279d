//! Where tensors lie: a buffer is used again only where a chain of waits orders its last readers before the overwrite.

use super::{Buffer, BufferId};
use crate::graph::{Graph, OpId, TensorId};

/// The ops that are complete before an op begins.
pub(super) struct Order {
    /// On the op's own rank.
    own: Vec<Bits>,
    /// On all ranks, before the op begins on any.
    all: Vec<Bits>,
}

impl Order {
    /// `waits` are the ops that each op waits for, all of them before it.
    pub(super) fn of(graph: &Graph, waits: &[Vec<OpId>]) -> Order {
        let count = waits.len();
        let (mut own, mut all) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for waits in waits {
            let (mut before, mut before_all) = (Bits::new(count), Bits::new(count));
            for op in waits {
                before.set(*op);
                before.join(&own[*op]);
                before_all.join(&all[*op]);
                if graph.ranks == 1 || is_collected(graph, *op) {
                    // Its counter is complete when the op is on every rank, each of which had its own chain before.
                    before_all.set(*op);
                    before_all.join(&own[*op]);
                }
            }
            before.join(&before_all);
            own.push(before);
            all.push(before_all);
        }
        Order { own, all }
    }
}

/// Whether an op pushes its output to all ranks.
pub(super) fn is_collected(graph: &Graph, op: OpId) -> bool {
    graph.ranks > 1 && graph.ops[op].writes().any(|t| graph.tensors[t].collected.is_some())
}

/// Gives each tensor a buffer; `bytes` are the sizes of the tensors, `readers` the ops that read each.
pub(super) fn place(graph: &Graph, order: &Order, bytes: &[usize], readers: &[Vec<OpId>]) -> (Vec<BufferId>, Vec<Buffer>) {
    let mut buffers: Vec<Buffer> = Vec::new();
    // The tensor that each buffer holds last; `None` if it may not be used again.
    let mut last: Vec<Option<TensorId>> = Vec::new();
    let mut places = vec![0; graph.tensors.len()];
    let logits = graph.logits();
    for (op, node) in graph.ops.iter().enumerate() {
        for tensor in node.writes() {
            let collected = graph.ranks > 1 && graph.tensors[tensor].collected.is_some();
            let sources = if collected { graph.ranks } else { 1 };
            let before = if collected { &order.all[op] } else { &order.own[op] };
            // The host and the next step read the output of the model, and what is written once lives on: nothing else may lie there. The logits are read at
            // the end of the step: nothing may come after them.
            let alone = tensor == graph.output || node.task.once;
            let kept = alone || logits == Some(tensor);
            let free = |b: &BufferId| {
                let Some(held) = last[*b].filter(|_| !alone) else { return false };
                buffers[*b].sources == sources
                    && before.has(graph.tensors[held].writer)
                    && readers[held].iter().all(|reader| before.has(*reader))
            };
            // The one that has to grow least, then the one that wastes least.
            let best = (0..buffers.len())
                .filter(free)
                .min_by_key(|b| (bytes[tensor].saturating_sub(buffers[*b].bytes), buffers[*b].bytes, *b));
            let buffer = best.unwrap_or_else(|| {
                // Nothing orders an overwrite in the next step after the last read on another rank: two copies by parity.
                buffers.push(Buffer { bytes: 0, sources, parity: if collected { 2 } else { 1 } });
                last.push(None);
                buffers.len() - 1
            });
            buffers[buffer].bytes = buffers[buffer].bytes.max(bytes[tensor]);
            last[buffer] = (!kept).then_some(tensor);
            places[tensor] = buffer;
        }
    }
    (places, buffers)
}

/// A set of ops.
#[derive(Clone)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(len: usize) -> Bits {
        Bits(vec![0; len.div_ceil(64)])
    }

    fn set(&mut self, i: usize) {
        self.0[i / 64] |= 1 << (i % 64);
    }

    fn has(&self, i: usize) -> bool {
        self.0[i / 64] >> (i % 64) & 1 == 1
    }

    fn join(&mut self, other: &Bits) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }
}
