//! MPK-P0204: every index is in range, everything fits where it lies, and what lives at the same time does not overlap.

use super::View;
use super::violation::{Code, Found};
use crate::graph::NodeArg;
use crate::plan::{MOST_BYTES, PageSource, Plan, Shared, TENSOR_ALIGN, check_options, eval, packed, symbols};
use crate::step::PAGE_POSITIONS;

/// Checks that the parts of a plan belong together: all later checks index by them.
pub(super) fn indices(plan: &Plan, found: &mut Found) {
    let graph = &plan.graph;
    let mut add = |queue: Option<usize>, what: String| {
        let text = format!(
            "the plan does not fit its graph: {what}\non the GPU a task would take the address of something else\nhelp: make the plan anew from its graph"
        );
        found.add(Code::P0204, None, queue, text);
    };
    let lengths = [
        ("ops", plan.ops.len(), graph.ops.len()),
        ("counters", plan.counters.len(), graph.ops.len()),
        ("tensors", plan.tensors.len(), graph.tensors.len()),
        ("weights", plan.weights.len(), graph.weights.len()),
        ("ranks", plan.ranks, graph.ranks),
    ];
    for (what, has, wants) in lengths {
        if has != wants {
            add(None, format!("it has {has} {what}, the graph {wants}"));
        }
    }
    if let Err(error) = check_options(graph, &plan.options) {
        add(None, error.to_string().lines().next().unwrap_or_default().to_string());
    }
    if plan.ranks == 0 || plan.options.workers == 0 || plan.ranks.checked_mul(plan.options.workers) != Some(plan.queues.len()) {
        add(None, format!("{} queues for {} workers of {} ranks", plan.queues.len(), plan.options.workers, plan.ranks));
    }
    let ops = plan.ops.len();
    let mut below = |queue: Option<usize>, what: &str, index: usize, len: usize| {
        if index >= len {
            add(queue, format!("{what} {index} of {len}"));
        }
    };
    below(None, "output tensor", graph.output, graph.tensors.len());
    plan.boundary.iter().for_each(|op| below(None, "boundary op", *op, ops));
    plan.tensors.iter().for_each(|buffer| below(None, "buffer", *buffer, plan.buffers.len()));
    graph.tensors.iter().for_each(|tensor| below(None, "writer", tensor.writer, graph.ops.len()));
    for state in &plan.states {
        below(None, "op of a state", state.op, ops);
    }
    for node in &graph.ops {
        below(None, "argument", node.args.len(), node.task.signature.ports.len() + 1);
        for arg in &node.args {
            match arg {
                NodeArg::In(t) | NodeArg::Out(t) | NodeArg::Held(t) => below(None, "tensor", *t, graph.tensors.len()),
                NodeArg::Weight(w) => below(None, "weight", *w, plan.weights.len()),
                _ => {}
            }
        }
    }
    for (q, queue) in plan.queues.iter().enumerate() {
        for share in &queue.tasks {
            below(Some(q), "op of a task", share.op, ops);
            share.waits.iter().for_each(|op| below(Some(q), "wait for op", *op, ops));
            for trigger in &share.triggers {
                below(Some(q), "trigger of counter", trigger.counter, ops);
                below(Some(q), "trigger on rank", trigger.rank, plan.ranks);
            }
        }
        for segment in &queue.stream {
            let PageSource::Static { weight, .. } = segment.source;
            below(Some(q), "task of a segment", segment.task, queue.tasks.len());
            below(Some(q), "streamed weight", weight, plan.weights.len());
        }
    }
}

/// Checks shared memory, buffers, weights and states.
pub(super) fn check(view: &View, found: &mut Found) {
    shared(view.plan, found);
    buffers(view, found);
    weights(view.plan, found);
    states(view.plan, found);
}

fn shared(plan: &Plan, found: &mut Found) {
    let mut add = |what: String| {
        let text = format!(
            "shared memory: {what}\non the GPU one would overwrite the other, or the launch fail\nhelp: lay the regions out anew"
        );
        found.add(Code::P0204, None, None, text);
    };
    for (i, region) in plan.shared.iter().enumerate() {
        let end = region.offset.checked_add(region.bytes);
        if end.is_none_or(|end| end > plan.options.shared_memory) {
            let (name, offset, bytes) = (&region.name, region.offset, region.bytes);
            add(format!("`{name}` at {offset} of {bytes} bytes ends beyond {} bytes", plan.options.shared_memory));
        }
        if !region.align.is_power_of_two() || !region.offset.is_multiple_of(region.align) {
            add(format!("`{}` at {} is not aligned to {}", region.name, region.offset, region.align));
        }
        for other in &plan.shared[..i] {
            // Tasks of a worker run one after the other, so scratch of different tasks is never live at once.
            let together = region.task.is_none() || other.task.is_none() || region.task == other.task;
            if together && overlap(region, other) {
                add(format!("`{}` and `{}` overlap", other.name, region.name));
            }
        }
    }
    // What the executors address must be there, and as large as they take it to be.
    let regions = match plan.regions() {
        Ok(regions) => regions,
        Err(error) => return found.add(Code::P0204, None, None, error.to_string()),
    };
    for need in regions {
        let there = plan.shared.iter().find(|r| (&r.name, &r.task) == (&need.name, &need.task));
        if there.is_none_or(|r| r.bytes < need.bytes || !r.align.is_multiple_of(need.align.max(1))) {
            add(format!("no region `{}` of {} bytes aligned to {}", need.name, need.bytes, need.align));
        }
    }
}

fn overlap(a: &Shared, b: &Shared) -> bool {
    a.offset < b.offset.saturating_add(b.bytes) && b.offset < a.offset.saturating_add(a.bytes) && a.bytes > 0 && b.bytes > 0
}

fn buffers(view: &View, found: &mut Found) {
    let plan = view.plan;
    for (i, buffer) in plan.buffers.iter().enumerate() {
        if buffer.bytes > MOST_BYTES || !buffer.bytes.is_multiple_of(TENSOR_ALIGN) || !(1..=plan.ranks).contains(&buffer.sources)
        {
            let text = format!(
                "buffer {i} has {} bytes for each of {} source ranks\non the GPU it could not be had, or its copies would be misaligned\nhelp: a multiple of {TENSOR_ALIGN} bytes up to {MOST_BYTES}, for 1 to {} ranks",
                buffer.bytes, buffer.sources, plan.ranks
            );
            found.add(Code::P0204, None, None, text);
        }
        if !(1..=2).contains(&buffer.parity) {
            let text = format!(
                "buffer {i} has {} copies by step parity\non the GPU a step would take an address outside of it\nhelp: 1, or 2 where other ranks write",
                buffer.parity
            );
            found.add(Code::P0204, None, None, text);
        }
    }
    for (t, tensor) in plan.graph.tensors.iter().enumerate() {
        let mut add = |what: String| {
            let op = Some(tensor.writer);
            let text = format!(
                "{}: its output {what}\non the GPU it would be written beyond its buffer\nhelp: give it a buffer of its own size",
                view.label(tensor.writer)
            );
            found.add(Code::P0204, op, None, text);
        };
        let (id, buffer) = (plan.tensors[t], plan.buffer(t));
        let bytes =
            tensor.rows.saturating_mul(plan.options.rows).saturating_mul(tensor.features()).saturating_mul(tensor.elem.size());
        if bytes > buffer.bytes {
            add(format!("has {bytes} bytes, buffer {id} has {}", buffer.bytes));
        }
        let sources = if view.collected(t) { plan.ranks } else { 1 };
        if buffer.sources != sources {
            add(format!("comes from {sources} ranks, buffer {id} has room for {}", buffer.sources));
        }
    }
    // Between two steps the host and the first ops read the output, and the host the logits; what is written once lives on.
    let (output, logits) = (plan.graph.output, plan.graph.logits());
    let writer = |t: usize| plan.graph.tensors[t].writer;
    for other in 0..plan.tensors.len() {
        let shares = |t: usize| other != t && plan.tensors[other] == plan.tensors[t];
        let what = if shares(output) {
            "output"
        } else if logits.is_some_and(|t| shares(t) && writer(other) > writer(t)) {
            "logits"
        } else if (0..plan.tensors.len()).any(|t| shares(t) && plan.graph.ops[writer(t)].task.once) {
            "states that are written once"
        } else {
            continue;
        };
        let text = format!(
            "{} writes to the buffer of the model's {what}\non the GPU it would overwrite them before they are read at the end of the step\nhelp: give it another buffer",
            view.label(writer(other))
        );
        found.add(Code::P0203, Some(writer(other)), None, text);
    }
}

fn weights(plan: &Plan, found: &mut Found) {
    let Ok(wanted) = packed(&plan.graph) else { return };
    for (i, (packed, wanted)) in plan.weights.iter().zip(&wanted).enumerate() {
        if packed != wanted {
            let text = format!(
                "weight {i} is to be packed as {wanted:?}, and is packed as {packed:?}\non the GPU the loader would read beyond it\nhelp: pack it by its shape"
            );
            found.add(Code::P0204, None, None, text);
        }
    }
}

fn states(plan: &Plan, found: &mut Found) {
    let wanted = plan.options.context.div_ceil(PAGE_POSITIONS).saturating_mul(plan.options.slots);
    if plan.pages < wanted {
        let text = format!(
            "the KV cache has {} pages, {} slots of {} positions fill {wanted}\non the GPU the last sequence would write over another\nhelp: plan for fewer slots or a shorter context",
            plan.pages, plan.options.slots, plan.options.context
        );
        found.add(Code::P0204, None, None, text);
    }
    let mut uses = vec![0; plan.graph.tensors.len()];
    let args = || plan.graph.ops.iter().flat_map(|node| &node.args);
    args().for_each(|arg| {
        if let NodeArg::In(t) | NodeArg::Held(t) = arg {
            uses[*t] += 1
        }
    });
    for (op, node) in plan.graph.ops.iter().enumerate() {
        for arg in &node.args {
            let NodeArg::Held(tensor) = arg else { continue };
            if uses[*tensor] > 1 {
                let text = format!(
                    "{} writes its state in every step, and another port reads it\non the GPU both would touch it at once\nhelp: give each op a value of its own that is written once",
                    plan.ops[op].label
                );
                found.add(Code::P0203, Some(op), None, text);
            }
        }
        for (port, _) in node.args.iter().enumerate().filter(|(_, arg)| matches!(arg, NodeArg::State | NodeArg::Held(_))) {
            let spec = &node.task.signature.ports[port];
            let held = if let NodeArg::Held(tensor) = &node.args[port] { Some(*tensor) } else { None };
            let mut states = plan.states.iter().filter(|s| (s.op, s.port, s.held) == (op, port, held));
            let shape: Option<Vec<usize>> = symbols(&plan.graph, op, &plan.options, plan.pages)
                .ok()
                .and_then(|symbols| spec.shape.iter().map(|dim| eval(dim, &symbols).ok()).collect());
            let what = match (states.next(), states.next()) {
                (Some(state), None) if Some(&state.shape) == shape.as_ref() => continue,
                (Some(state), None) => format!("a state of {:?} for its port `{}` of {shape:?}", state.shape, spec.name),
                (None, _) => format!("no state for its port `{}`", spec.name),
                (Some(_), Some(_)) => format!("two states for its port `{}`", spec.name),
            };
            let text = format!(
                "{} has {what}\non the GPU it would write beyond its memory, or to that of another layer\nhelp: one state for each op and port, of the shape in the signature",
                plan.ops[op].label
            );
            found.add(Code::P0204, Some(op), None, text);
        }
    }
}
