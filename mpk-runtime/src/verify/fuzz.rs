//! Whatever numbers stand in a plan: it is judged, without a panic and without an absurd allocation.

use super::*;
use crate::plan::PageSource;
use crate::plan::testing::*;

/// Every number of a plan, with the name of its field.
fn numbers(plan: &mut Plan) -> Vec<(&'static str, &mut usize)> {
    let options = &mut plan.options;
    let mut all = vec![
        ("ranks", &mut plan.ranks),
        ("pages", &mut plan.pages),
        ("workers", &mut options.workers),
        ("rows", &mut options.rows),
        ("slots", &mut options.slots),
        ("context", &mut options.context),
        ("shared_memory", &mut options.shared_memory),
        ("ring.page_bytes", &mut plan.ring.page_bytes),
        ("ring.stages", &mut plan.ring.stages),
        ("ring.in_flight", &mut plan.ring.in_flight),
    ];
    for op in &mut plan.ops {
        all.extend([("op.tiles", &mut op.tiles), ("op.weight_bytes", &mut op.weight_bytes)]);
    }
    all.extend(plan.tensors.iter_mut().map(|n| ("tensor", n)));
    all.extend(plan.boundary.iter_mut().map(|n| ("boundary", n)));
    for b in &mut plan.buffers {
        all.extend([("buffer.bytes", &mut b.bytes), ("buffer.sources", &mut b.sources), ("buffer.parity", &mut b.parity)]);
    }
    for w in &mut plan.weights {
        all.extend([("weight.rows", &mut w.rows), ("weight.cols", &mut w.cols), ("weight.bytes", &mut w.bytes)]);
    }
    all.extend(plan.counters.iter_mut().map(|c| ("counter.arrivals", &mut c.arrivals)));
    for s in &mut plan.shared {
        all.extend([("shared.offset", &mut s.offset), ("shared.bytes", &mut s.bytes), ("shared.align", &mut s.align)]);
    }
    for state in &mut plan.states {
        all.extend([("state.op", &mut state.op), ("state.port", &mut state.port)]);
        all.extend(state.shape.iter_mut().map(|n| ("state.shape", n)));
    }
    for queue in &mut plan.queues {
        for share in &mut queue.tasks {
            all.extend([("share.op", &mut share.op), ("share.first", &mut share.first), ("share.tiles", &mut share.tiles)]);
            all.extend(share.waits.iter_mut().map(|n| ("share.wait", n)));
            for t in &mut share.triggers {
                all.extend([("trigger.rank", &mut t.rank), ("trigger.counter", &mut t.counter)]);
            }
        }
        for segment in &mut queue.stream {
            let PageSource::Static { weight, first_strip, strips } = &mut segment.source;
            all.extend([
                ("segment.task", &mut segment.task),
                ("segment.port", &mut segment.port),
                ("segment.pages", &mut segment.pages),
                ("segment.weight", weight),
                ("segment.first_strip", first_strip),
                ("segment.strips", strips),
            ]);
        }
    }
    all
}

/// What may change up to a bound with the plan still sound: room to spare, waits that another chain implies, and numbers that only
/// reports show.
const MAY_CHANGE: [(&str, usize); 9] = [
    ("buffer.bytes", 1 << 46),
    ("buffer.parity", 2),
    ("context", 4096),
    ("op.weight_bytes", usize::MAX),
    ("ring.in_flight", 12),
    ("share.wait", 20),
    ("shared.align", usize::MAX),
    ("slots", 2),
    ("tensor", 20),
];

#[test]
fn no_number_makes_the_verifier_panic() {
    let sound = plan(Size { grid: true, layers: 1, ..TWO_RANKS }, 2, 2);
    let count = numbers(&mut sound.clone()).len();
    let mut silent = std::collections::BTreeSet::new();
    for at in 0..count {
        for value in [0, 1, 3, 1 << 40, usize::MAX / 2, usize::MAX] {
            let mut plan = sound.clone();
            let (name, number) = numbers(&mut plan).swap_remove(at);
            if *number == value {
                continue;
            }
            *number = value;
            if verify(&plan).is_ok() {
                silent.insert((name, value));
            }
        }
    }
    let other: Vec<_> =
        silent.iter().filter(|(name, value)| !MAY_CHANGE.iter().any(|(n, most)| n == name && value <= most)).collect();
    assert!(other.is_empty(), "{other:?}");
}
