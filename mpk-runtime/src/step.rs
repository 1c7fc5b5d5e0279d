//! The table of rows that a step computes.

use std::ops::Range;

/// Positions of a page of the KV cache.
pub const PAGE_POSITIONS: usize = 64;

/// One row of a step: a token of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The sequence's slot.
    pub slot: usize,
    /// Position of the token in its sequence.
    pub position: usize,
    /// Token id.
    pub token: u32,
    /// Whether the next token is wanted.
    pub sample: bool,
}

/// The rows of a step and the page tables of their slots. Rows of one slot stand together, at consecutive positions.
#[derive(Clone, Debug)]
pub struct StepRows {
    rows: Vec<Row>,
    /// Page numbers by slot.
    pages: Vec<Vec<usize>>,
}

impl StepRows {
    /// A step of `rows` over the page tables `pages`, one per slot.
    pub fn new(rows: Vec<Row>, pages: Vec<Vec<usize>>) -> Self {
        StepRows { rows, pages }
    }

    /// Live rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no row is live.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Row `t`.
    pub fn get(&self, t: usize) -> Row {
        self.rows[t]
    }

    /// The rows of row `t`'s sequence up to `t` itself.
    pub fn peers(&self, t: usize) -> Range<usize> {
        let slot = self.rows[t].slot;
        let first = self.rows[..t].iter().rposition(|r| r.slot != slot).map_or(0, |i| i + 1);
        first..t + 1
    }

    /// Positions of row `t`'s sequence that are in the cache before this step.
    pub fn cached(&self, t: usize) -> usize {
        self.rows[self.peers(t).start].position
    }

    /// Page numbers by slot.
    pub fn pages(&self) -> &[Vec<usize>] {
        &self.pages
    }

    /// The page and the offset in it of a position of `slot`.
    pub fn place(&self, slot: usize, position: usize) -> (usize, usize) {
        (self.pages[slot][position / PAGE_POSITIONS], position % PAGE_POSITIONS)
    }
}
