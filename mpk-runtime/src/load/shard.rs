//! One safetensors file: mapped into memory, its header read and checked.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use super::error::{POINTER, Problem};
use super::findings::Findings;
use super::header;
use super::layout::{self, Placed};

/// The longest header that is read, in bytes; the format's own limit.
const LONGEST_HEADER: u64 = 100_000_000;

/// A mapped file. Whatever its tensors say has been checked against its length.
#[derive(Debug)]
pub(super) struct Shard {
    pub path: PathBuf,
    map: Mmap,
    /// Where the data begins in the file.
    data: usize,
}

impl Shard {
    /// Maps `path` and checks it. Everything wrong is added to `problems`; a shard comes back only if nothing is.
    pub fn open(path: &Path, problems: &mut Vec<Problem>) -> Option<(Self, Vec<Placed>)> {
        let mut findings = Findings::default();
        let opened = Self::check(path, &mut findings);
        let opened = opened.map_err(|(field, what)| findings.add(field, what)).ok();
        let whole = findings.is_empty();
        problems.extend(findings.into_problems(path));
        opened.filter(|_| whole)
    }

    /// `Err` is a problem that ends the reading.
    fn check(path: &Path, findings: &mut Findings) -> Result<(Self, Vec<Placed>), (&'static str, String)> {
        let map = map_file(path).map_err(|error| ("file", format!("cannot be read: {error}")))?;
        if map.starts_with(b"version https://git-lfs") {
            return Err(("file", POINTER.to_owned()));
        }
        let (length, rest) = map
            .split_first_chunk::<8>()
            .ok_or_else(|| ("header length", format!("the file has {} bytes; the length takes 8", map.len())))?;
        let length = u64::from_le_bytes(*length);
        if length > LONGEST_HEADER {
            let what = format!("{length} bytes, more than the {LONGEST_HEADER} allowed: this is no safetensors file");
            return Err(("header length", what));
        }
        let split = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
        let (json, data) = split.ok_or_else(|| {
            let what = format!("{length} bytes, but only {} follow in the file", rest.len());
            ("header length", what)
        })?;
        let json = std::str::from_utf8(json)
            .map_err(|error| ("header", format!("is not UTF-8 from its byte {} on", error.valid_up_to())))?;
        let mut placed = header::parse(json, data.len(), findings)
            .map_err(|error| ("header", format!("is not the JSON expected: {error}")))?;
        layout::check_tiling(&mut placed, data.len(), findings);
        let data = map.len() - data.len();
        Ok((Self { path: path.to_owned(), map, data }, placed))
    }

    /// The bytes of a tensor that this file placed.
    pub fn bytes(&self, range: &std::ops::Range<usize>) -> &[u8] {
        &self.map[self.data + range.start..self.data + range.end]
    }
}

fn map_file(path: &Path) -> io::Result<Mmap> {
    // Opening a pipe would wait for its writer, so the kind is looked at first.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let file = File::open(path)?;
    // SAFETY: the map is read-only and owned by the `Shard` that hands out slices of it, so no slice outlives it.
    // What remains is another process changing or truncating the file while it is mapped: no program can rule that
    // out, and the documentation of `Checkpoint::open` says that it must not happen.
    unsafe { Mmap::map(&file) }
}
