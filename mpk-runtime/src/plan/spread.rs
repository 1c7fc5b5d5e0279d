//! Spreading the tiles of ops over workers.

use std::ops::Range;

/// What each worker has to stream and run so far.
#[derive(Debug)]
pub(super) struct Loads {
    /// Bytes and tasks by worker.
    workers: Vec<(usize, usize)>,
}

impl Loads {
    pub(super) fn new(workers: usize) -> Loads {
        Loads { workers: vec![(0, 0); workers] }
    }

    /// The tiles of each worker, `None` for workers without any: contiguous runs in the order of the workers, which differ by
    /// at most one tile. The workers with the fewest bytes so far take the tiles that are left over.
    pub(super) fn spread(&self, tiles: usize) -> Vec<Option<Range<usize>>> {
        let workers = self.workers.len();
        let (each, left) = (tiles / workers, tiles % workers);
        let mut order: Vec<usize> = (0..workers).collect();
        order.sort_by_key(|w| (self.workers[*w], *w));
        let mut extra = vec![0; workers];
        for w in &order[..left] {
            extra[*w] = 1;
        }
        let mut first = 0;
        extra
            .into_iter()
            .map(|extra| {
                let run = first..first + each + extra;
                first = run.end;
                (!run.is_empty()).then_some(run)
            })
            .collect()
    }

    /// Notes a task of `bytes` streamed bytes.
    pub(super) fn add(&mut self, worker: usize, bytes: usize) {
        let load = &mut self.workers[worker];
        load.0 = load.0.saturating_add(bytes);
        load.1 += 1;
    }
}
