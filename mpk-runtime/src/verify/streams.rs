//! MPK-P0202, the static part: each worker's stream is what its tasks consume, in their order, and passes through the ring.
//!
//! Loader and consumer then walk the same list of pages, and each page is freed before the ring is full of later ones: a static
//! stream can't deadlock with as little as one stage.

use super::violation::{Code, Found};
use super::{View, worker};
use crate::graph::NodeArg;
use crate::plan::{PageSource, Segment};

pub(super) fn check(view: &View, found: &mut Found) {
    let plan = view.plan;
    let ring = plan.ring;
    let streams = plan.queues.iter().any(|queue| !queue.stream.is_empty());
    if streams
        && (ring.stages == 0
            || ring.in_flight == 0
            || ring.in_flight > ring.stages
            || ring.page_bytes == 0
            || !ring.page_bytes.is_multiple_of(512))
    {
        let text = format!(
            "a ring of {} stages of {} bytes with {} in flight can't pass a page\non the GPU the loader would wait for ever\nhelp: 1 <= in_flight <= stages, and pages of whole fragments of 512 bytes",
            ring.stages, ring.page_bytes, ring.in_flight
        );
        found.add(Code::P0202, None, None, text);
        return;
    }
    for (q, queue) in plan.queues.iter().enumerate() {
        let expected = expected(view, q);
        let differs = (0..expected.len().max(queue.stream.len())).find(|i| expected.get(*i) != queue.stream.get(*i));
        if let Some(i) = differs {
            let say = |segment: Option<&Segment>| segment.map_or("nothing more".to_string(), |s| describe(view, q, s));
            let text = format!(
                "segment {i} of the stream of {} is {}, its tasks consume {}\non the GPU the consumer would take one weight for another, or wait for pages that never come\nhelp: stream exactly the strips of each task's tiles, in the order of the queue",
                worker(plan, q),
                say(queue.stream.get(i)),
                say(expected.get(i))
            );
            let op = expected.get(i).or(queue.stream.get(i)).map(|s| queue.tasks[s.task].op);
            found.add(Code::P0202, op, Some(q), text);
        }
    }
}

/// What the tasks of a queue consume.
fn expected(view: &View, q: usize) -> Vec<Segment> {
    let plan = view.plan;
    let mut segments = Vec::new();
    for (task, share) in plan.queues[q].tasks.iter().enumerate() {
        let node = &plan.graph.ops[share.op];
        for name in node.task.streams {
            let Some(port) = node.task.signature.ports.iter().position(|p| p.name == *name) else { continue };
            let NodeArg::Weight(weight) = node.args[port] else { continue };
            let strips = view.tiles[share.op].strips(port, share.first..share.first.saturating_add(share.tiles));
            if strips.is_empty() {
                continue;
            }
            let pages = strips.len() * plan.weights[weight].strip_bytes().div_ceil(plan.ring.page_bytes);
            let source = PageSource::Static { weight, first_strip: strips.start, strips: strips.len() };
            segments.push(Segment { task, port, source, pages });
        }
    }
    segments
}

fn describe(view: &View, q: usize, segment: &Segment) -> String {
    let PageSource::Static { weight, first_strip, strips } = segment.source;
    let op = view.plan.queues[q].tasks[segment.task].op;
    let port = view.plan.graph.ops[op].task.signature.ports.get(segment.port).map_or("?", |p| p.name);
    let last = first_strip.saturating_add(strips);
    format!("{} pages for `{port}` of {} (weight {weight}, strips {first_strip}..{last})", segment.pages, view.label(op))
}
