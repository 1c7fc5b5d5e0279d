//! Views of the memory that tasks share: activations and state.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use half::bf16;

use crate::shape::Elem;

/// A stretch of memory shared between the threads of an executor.
///
/// Several threads hold areas of the same memory and write to disjoint parts of it. That no two tasks touch the same
/// element without an order between them is what the verifier proves of a plan (MPK-P0203) before it runs.
#[derive(Clone, Copy, Debug)]
pub struct Area<'a> {
    ptr: *mut u8,
    len: usize,
    life: PhantomData<&'a ()>,
}

// SAFETY: an area is only an address and a length. Its accesses are bounds-checked, and ordered between threads by the edges
// of a verified plan (see `Area::new`).
unsafe impl Send for Area<'_> {}
// SAFETY: as for `Send`.
unsafe impl Sync for Area<'_> {}

impl<'a> Area<'a> {
    /// An area of `len` bytes at `ptr`.
    ///
    /// # Safety
    /// `ptr` is aligned to 8 bytes and valid for reads and writes of `len` initialised bytes for `'a`, is accessed only
    /// through areas meanwhile, and no access to an element is concurrent with a write to it, but for additions with each other.
    pub unsafe fn new(ptr: *mut u8, len: usize) -> Self {
        Area { ptr, len, life: PhantomData }
    }

    /// The first `len` bytes.
    pub(crate) fn bytes(&self, len: usize) -> &'a [u8] {
        self.slice(0, len)
    }

    fn slice<T: bytemuck::Pod>(&self, start: usize, len: usize) -> &'a [T] {
        let size = size_of::<T>();
        assert!(
            start.checked_add(len).is_some_and(|end| end <= self.len / size),
            "a read beyond its buffer: elements {start}..{} of {}",
            start.saturating_add(len),
            self.len / size
        );
        // SAFETY: in bounds by the assertion; aligned, since the area is aligned to 8 bytes and no element is larger; valid,
        // initialised and free of concurrent writes by the contract of `Area::new`; every bit pattern is a `T` (Pod).
        unsafe { std::slice::from_raw_parts(self.ptr.cast::<T>().add(start), len) }
    }

    fn add(&self, at: usize, n: u64) {
        assert!(at < self.len / 8, "an addition beyond its buffer: word {at} of {}", self.len / 8);
        // SAFETY: in bounds by the assertion and aligned; by the contract of `Area::new` only other additions are concurrent.
        let word = unsafe { AtomicU64::from_ptr(self.ptr.cast::<u64>().add(at)) };
        // Relaxed: what is read by it is ordered by a barrier or an edge.
        word.fetch_add(n, Ordering::Relaxed);
    }

    fn write<T: bytemuck::Pod>(&self, at: usize, value: T) {
        assert!(at < self.len / size_of::<T>(), "a write beyond its buffer: element {at} of {}", self.len / size_of::<T>());
        // SAFETY: in bounds by the assertion, aligned as above, and not concurrent with another access to this element by the
        // contract of `Area::new`.
        unsafe { self.ptr.cast::<T>().add(at).write(value) }
    }
}

/// An `In` port: `rows × features`, row-major. A collective sees one for every rank.
#[derive(Clone, Debug)]
pub struct In<'a> {
    /// One area per source rank: all ranks for a collective, else this rank's own.
    pub areas: Arc<[Area<'a>]>,
    /// The area that [`In::row`] reads.
    pub source: usize,
    /// Element type.
    pub elem: Elem,
    /// Live rows of this step.
    pub rows: usize,
    /// Features of a row on this rank.
    pub features: usize,
    /// The index of feature 0 in the unsharded value.
    pub first: usize,
}

impl<'a> In<'a> {
    /// Live rows of this step.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Features of a row on this rank.
    pub fn features(&self) -> usize {
        self.features
    }

    /// The index of feature `n` of this rank in the unsharded value.
    pub fn global(&self, n: usize) -> usize {
        self.first + n
    }

    /// Number of ranks that a collective reads.
    pub fn ranks(&self) -> usize {
        self.areas.len()
    }

    /// The same port as rank `rank` wrote it.
    pub fn rank(&self, rank: usize) -> In<'a> {
        In { source: rank, ..self.clone() }
    }

    /// Row `t` in f32.
    pub fn row(&self, t: usize) -> Cow<'a, [f32]> {
        self.part(t, 0..self.features)
    }

    /// Features `range` of row `t` in f32.
    pub fn part(&self, t: usize, range: Range<usize>) -> Cow<'a, [f32]> {
        assert!(t < self.rows && range.end <= self.features, "row {t}, features {range:?} of {}×{}", self.rows, self.features);
        let (start, len) = (t * self.features + range.start, range.len());
        let area = &self.areas[self.source];
        match self.elem {
            Elem::F32 => Cow::Borrowed(area.slice::<f32>(start, len)),
            Elem::Bf16 => Cow::Owned(area.slice::<bf16>(start, len).iter().map(|v| v.to_f32()).collect()),
            Elem::U32 => Cow::Owned(area.slice::<u32>(start, len).iter().map(|v| *v as f32).collect()),
            Elem::U64 => Cow::Owned(area.slice::<u64>(start, len).iter().map(|v| *v as f32).collect()),
        }
    }

    /// Feature `n` of row `t` of a port of integers.
    pub fn word(&self, t: usize, n: usize) -> u64 {
        let (at, area) = (t * self.features + n, &self.areas[self.source]);
        match self.elem {
            Elem::U32 => u64::from(area.slice::<u32>(at, 1)[0]),
            _ => area.slice::<u64>(at, 1)[0],
        }
    }

    /// Row `t` of a port of 64-bit words.
    pub fn words(&self, t: usize) -> &'a [u64] {
        self.areas[self.source].slice::<u64>(t * self.features, self.features)
    }
}

/// An `Out` port. A task writes only the rows and features of its own tiles.
#[derive(Clone, Debug)]
pub struct Out<'a> {
    /// Where a write goes: one area, or one on every rank for what a collective reads.
    pub areas: Arc<[Area<'a>]>,
    /// Element type.
    pub elem: Elem,
    /// Rows of this task.
    pub rows: Range<usize>,
    /// Features of this task.
    pub own: Range<usize>,
    /// Features of a row on this rank.
    pub features: usize,
}

impl Out<'_> {
    /// The rows that this task writes.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// The features that this task writes.
    pub fn range(&self) -> Range<usize> {
        self.own.clone()
    }

    /// Writes feature `n` of row `t`, rounded to the port's type.
    pub fn set(&self, t: usize, n: usize, value: f32) {
        let at = self.at(t, n);
        for area in self.areas.iter() {
            match self.elem {
                Elem::F32 => area.write(at, value),
                Elem::Bf16 => area.write(at, bf16::from_f32(value)),
                Elem::U32 => area.write(at, value as u32),
                Elem::U64 => area.write(at, value as u64),
            }
        }
    }

    /// Writes a word of a port of integers.
    pub fn set_word(&self, t: usize, n: usize, word: u64) {
        let at = self.at(t, n);
        for area in self.areas.iter() {
            match self.elem {
                Elem::U32 => area.write(at, word as u32),
                _ => area.write(at, word),
            }
        }
    }

    fn at(&self, t: usize, n: usize) -> usize {
        assert!(
            self.rows.contains(&t) && self.own.contains(&n),
            "a task wrote row {t}, feature {n}: its share is rows {:?}, features {:?}",
            self.rows,
            self.own
        );
        t * self.features + n
    }
}

/// A `State` port: an array of any rank, addressed by all but its last dimension.
#[derive(Clone, Debug)]
pub struct State<'a> {
    /// Its memory.
    pub area: Area<'a>,
    /// Its shape on this rank.
    pub shape: &'a [usize],
    /// Element type.
    pub elem: Elem,
}

impl<'a> State<'a> {
    /// The last dimension at `index`, of a bf16 state.
    pub fn row(&self, index: &[usize]) -> &'a [bf16] {
        let len = self.shape.last().copied().unwrap_or(1);
        self.area.slice(self.offset(index), len)
    }

    /// Element `i` of the last dimension at `index`, of a state of floats.
    pub fn at(&self, index: &[usize], i: usize) -> f32 {
        let at = self.offset(index) + i;
        match self.elem {
            Elem::F32 => self.area.slice::<f32>(at, 1)[0],
            _ => self.area.slice::<bf16>(at, 1)[0].to_f32(),
        }
    }

    /// Writes element `i` of the last dimension at `index`, rounded to bf16.
    pub fn set(&self, index: &[usize], i: usize, value: f32) {
        let at = self.offset(index) + i;
        match self.elem {
            Elem::F32 => self.area.write(at, value),
            _ => self.area.write(at, bf16::from_f32(value)),
        }
    }

    /// Word `i` of a state of 64-bit words.
    pub fn word(&self, i: usize) -> u64 {
        self.area.slice::<u64>(i, 1)[0]
    }

    /// Writes word `i` of a state of 64-bit words.
    pub fn set_word(&self, i: usize, word: u64) {
        self.area.write(i, word);
    }

    /// Adds to word `i` of a state of 64-bit words; several workers may at once.
    pub fn add_word(&self, i: usize, n: u64) {
        self.area.add(i, n);
    }

    fn offset(&self, index: &[usize]) -> usize {
        assert!(
            index.len() + 1 == self.shape.len() && index.iter().zip(self.shape).all(|(i, n)| i < n),
            "{index:?} is outside of a state of {:?}",
            self.shape
        );
        index.iter().zip(self.shape).fold(0, |at, (i, n)| at * n + i) * self.shape.last().copied().unwrap_or(1)
    }
}
