//! Whatever numbers stand in a plan: it is judged, without a panic and without an absurd allocation.

use super::*;
use crate::plan::PageSource;
use crate::plan::testing::*;

/// Every number of a plan.
fn numbers(plan: &mut Plan) -> Vec<&mut usize> {
    let mut all = vec![&mut plan.ranks, &mut plan.pages];
    let options = &mut plan.options;
    all.extend([&mut options.workers, &mut options.rows, &mut options.slots, &mut options.context, &mut options.shared_memory]);
    all.extend([&mut plan.ring.page_bytes, &mut plan.ring.stages, &mut plan.ring.in_flight]);
    all.extend(plan.ops.iter_mut().flat_map(|op| [&mut op.tiles, &mut op.weight_bytes]));
    all.extend(&mut plan.tensors);
    all.extend(&mut plan.boundary);
    all.extend(plan.buffers.iter_mut().flat_map(|b| [&mut b.bytes, &mut b.sources, &mut b.parity]));
    all.extend(plan.weights.iter_mut().flat_map(|w| [&mut w.rows, &mut w.cols, &mut w.bytes]));
    all.extend(plan.counters.iter_mut().map(|c| &mut c.arrivals));
    all.extend(plan.shared.iter_mut().flat_map(|s| [&mut s.offset, &mut s.bytes, &mut s.align]));
    for state in &mut plan.states {
        all.extend([&mut state.op, &mut state.port]);
        all.extend(&mut state.shape);
    }
    for queue in &mut plan.queues {
        for share in &mut queue.tasks {
            all.extend([&mut share.op, &mut share.first, &mut share.tiles]);
            all.extend(&mut share.waits);
            all.extend(share.triggers.iter_mut().flat_map(|t| [&mut t.rank, &mut t.counter]));
        }
        for segment in &mut queue.stream {
            let PageSource::Static { weight, first_strip, strips } = &mut segment.source;
            all.extend([&mut segment.task, &mut segment.port, &mut segment.pages, weight, first_strip, strips]);
        }
    }
    all
}

#[test]
fn no_number_makes_the_verifier_panic() {
    let sound = plan(Size { grid: true, layers: 1, ..TWO_RANKS }, 2, 2);
    let count = numbers(&mut sound.clone()).len();
    let (mut refused, mut silent) = (0, 0);
    for at in 0..count {
        for value in [0, 1, 3, 1 << 40, usize::MAX / 2, usize::MAX] {
            let mut plan = sound.clone();
            let number = numbers(&mut plan).swap_remove(at);
            if *number == value {
                continue;
            }
            *number = value;
            match verify(&plan) {
                Ok(_) => silent += 1,
                Err(_) => refused += 1,
            }
        }
    }
    println!("{count} numbers: {refused} changes refused, {silent} harmless");
    // What may change: buffers that grow, pages in flight, a wait that another chain implies, bytes that only reports show.
    assert!(refused > 10 * silent, "{refused} refused, {silent} not");
}
