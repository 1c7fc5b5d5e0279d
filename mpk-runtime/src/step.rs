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

/// What an executor is asked for: a step with these rows, then up to `steps - 1` more, each with one row for every row that sampled
/// in the one before.
#[derive(Clone, Debug)]
pub struct Command {
    /// The rows of the first step.
    pub rows: StepRows,
    /// Steps at most, at least 1.
    pub steps: usize,
    /// Tokens that end the sequence that gives them.
    pub stops: Vec<u32>,
}

/// A token that a step gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// The sequence's slot.
    pub slot: usize,
    /// The token's position in its sequence.
    pub position: usize,
    /// Its id.
    pub token: u32,
}

impl Command {
    /// One step.
    pub fn once(rows: StepRows) -> Command {
        Command { rows, steps: 1, stops: Vec::new() }
    }

    /// What its first step gave, where `token` is that of each row, and the command for the steps after it; `None` after the last.
    pub fn after(self, token: impl Fn(usize) -> u32) -> (Vec<Sampled>, Option<Command>) {
        let sampling = (0..self.rows.len()).filter(|t| self.rows.get(*t).sample);
        let sampled = |t: usize| {
            let row = self.rows.get(t);
            Sampled { slot: row.slot, position: row.position + 1, token: token(t) }
        };
        let given: Vec<Sampled> = sampling.map(sampled).collect();
        let kept = given.iter().filter(|s| self.steps > 1 && !self.stops.contains(&s.token));
        let rows: Vec<Row> = kept.map(|s| Row { slot: s.slot, position: s.position, token: s.token, sample: true }).collect();
        let next = (!rows.is_empty()).then(|| Command {
            rows: StepRows { rows, pages: self.rows.pages },
            steps: self.steps - 1,
            stops: self.stops,
        });
        (given, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(rows: &[(usize, usize, bool)], steps: usize) -> Command {
        let row =
            |(slot, position, sample): &(usize, usize, bool)| Row { slot: *slot, position: *position, token: 9, sample: *sample };
        Command { rows: StepRows::new(rows.iter().map(row).collect(), vec![vec![0], vec![1]]), steps, stops: vec![7] }
    }

    #[test]
    fn a_prompt_goes_on_with_one_row() {
        let (given, next) = command(&[(1, 4, false), (1, 5, true)], 2).after(|t| 10 + t as u32);
        assert_eq!(given, [Sampled { slot: 1, position: 6, token: 11 }]);
        let next = next.unwrap();
        assert_eq!(next.rows.get(0), Row { slot: 1, position: 6, token: 11, sample: true });
        assert_eq!((next.rows.len(), next.steps, next.rows.place(1, 6)), (1, 1, (1, 6)));
        assert!(next.after(|_| 3).1.is_none(), "its steps are over");
    }

    #[test]
    fn a_stop_token_ends_its_own_sequence_only() {
        let (given, next) = command(&[(0, 0, true), (1, 3, true)], 5).after(|t| if t == 0 { 7 } else { 8 });
        assert_eq!(given.len(), 2);
        assert_eq!(next.map(|next| (next.rows.len(), next.rows.get(0).slot)), Some((1, 1)));
    }
}
