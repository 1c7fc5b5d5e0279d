//! The memory of the host executor: activation buffers and state of all ranks.

use std::alloc::{Layout, alloc_zeroed, dealloc};

use super::HostError;
use crate::plan::{Buffer, Plan, State};
use crate::reference::Area;

/// Memory that is allocated once and only ever reached through areas.
struct Block {
    words: *mut u64,
    len: usize,
}

// SAFETY: a block owns its memory; it is only reached through areas, whose accesses are ordered by a verified plan.
unsafe impl Send for Block {}
// SAFETY: as for `Send`.
unsafe impl Sync for Block {}

impl Block {
    /// Zeroed memory; the system gives its pages as they are touched.
    fn new(bytes: usize) -> Result<Block, HostError> {
        let len = bytes.div_ceil(8).max(1);
        let layout = Layout::array::<u64>(len).map_err(|_| HostError::Memory { bytes })?;
        // SAFETY: the layout is not empty.
        let words: *mut u64 = unsafe { alloc_zeroed(layout) }.cast();
        if words.is_null() { Err(HostError::Memory { bytes }) } else { Ok(Block { words, len }) }
    }

    fn area(&self) -> Area<'_> {
        // SAFETY: the words are initialised, aligned to 8 bytes and live as long as `self`; they are reached only through areas.
        unsafe { Area::new(self.words.cast(), self.len * 8) }
    }

    fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as above; `&mut self` says that no area is in use.
        unsafe { std::slice::from_raw_parts_mut(self.words, self.len) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Ok(layout) = Layout::array::<u64>(self.len) {
            // SAFETY: `new` allocated the words with this layout.
            unsafe { dealloc(self.words.cast(), layout) };
        }
    }
}

/// Buffers and states, by rank.
pub struct Memory {
    /// `[rank][buffer][parity * sources + source]`
    buffers: Vec<Vec<Vec<Block>>>,
    /// `[rank][state]`
    states: Vec<Vec<Block>>,
}

impl Memory {
    /// All memory that `plan` needs, zeroed.
    ///
    /// # Errors
    /// The system does not give so much.
    pub fn new(plan: &Plan) -> Result<Memory, HostError> {
        let copies = |b: &Buffer| (0..b.parity * b.sources).map(|_| Block::new(b.bytes)).collect::<Result<Vec<_>, _>>();
        let bytes = |s: &State| match s.held {
            Some(_) => 0,
            None => s.bytes(),
        };
        let mut memory = Memory { buffers: Vec::new(), states: Vec::new() };
        for _ in 0..plan.ranks {
            memory.buffers.push(plan.buffers.iter().map(copies).collect::<Result<_, _>>()?);
            memory.states.push(plan.states.iter().map(|s| Block::new(bytes(s))).collect::<Result<_, _>>()?);
        }
        Ok(memory)
    }

    /// The copies of a buffer of `rank` in a step, by source rank.
    pub fn buffer(&self, plan: &Plan, rank: usize, buffer: usize, epoch: usize) -> Vec<Area<'_>> {
        let of = &plan.buffers[buffer];
        let first = epoch % of.parity * of.sources;
        self.buffers[rank][buffer][first..first + of.sources].iter().map(Block::area).collect()
    }

    /// A state of `rank`.
    pub fn state(&self, rank: usize, state: usize) -> Area<'_> {
        self.states[rank][state].area()
    }

    /// Writes a state of `rank` from its beginning, as far as it goes.
    pub fn set_state(&mut self, rank: usize, state: usize, bytes: &[u8]) {
        let to: &mut [u8] = bytemuck::cast_slice_mut(self.states[rank][state].words_mut());
        let len = bytes.len().min(to.len());
        to[..len].copy_from_slice(&bytes[..len]);
    }

    /// Fills every buffer with NaN, so that an element that no task writes is found (MPK-R0403); but for what was written once.
    pub fn poison(&mut self, plan: &Plan) {
        let held = plan.kept();
        for rank in &mut self.buffers {
            for (_, copies) in rank.iter_mut().enumerate().filter(|(buffer, _)| !held.contains(buffer)) {
                copies.iter_mut().for_each(|block| block.words_mut().fill(u64::MAX));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_can_not_be_had_is_an_error() {
        assert!(matches!(Block::new(usize::MAX), Err(HostError::Memory { bytes: usize::MAX })));
        assert_eq!(Block::new(9).map(|block| block.len).ok(), Some(2));
    }
}
