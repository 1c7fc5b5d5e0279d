//! Checks what a header says against the file: types, shapes, and that the tensors tile the data exactly.

use std::ops::Range;

use safetensors::Dtype;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as ValueError, StrDeserializer};

use super::findings::Findings;
use super::header::{Entry, MOST_DIMS, Shallow};
use super::listing::{Shape, shown};

/// A tensor whose every field has been checked.
#[derive(Debug)]
pub(super) struct Placed {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Box<[usize]>,
    /// Where its bytes are, counted from the start of the data.
    pub bytes: Range<usize>,
}

/// Checks one entry by itself. `data_len` is the number of bytes after the header.
pub(super) fn place(entry: Entry, data_len: usize, findings: &mut Findings) -> Option<Placed> {
    let name = entry.name;
    let mut wrong = |field: &str, what: String| findings.add_in(&name, field, what);
    let dtype = read_dtype(&entry.dtype).map_err(|what| wrong("dtype", what)).ok();
    let shape = read_shape(&entry.shape).map_err(|what| wrong("shape", what)).ok();
    let bytes = read_offsets(&entry.data_offsets).map_err(|what| wrong("data_offsets", what)).ok();
    if let Some(end) = bytes.as_ref().map(|bytes| bytes.end).filter(|end| *end > data_len) {
        findings.add_beyond(&name, format!("ends at byte {end} of the data, but the file has only {data_len}"));
        return None;
    }
    let mut wrong = |field: &str, what: String| findings.add_in(&name, field, what);
    let (dtype, shape, bytes) = (dtype?, shape?, bytes?);
    match byte_len(dtype, &shape) {
        None => {
            wrong("shape", format!("{} {dtype} is no whole number of bytes in memory", Shape(&shape)));
        }
        Some(len) if len != bytes.len() => {
            wrong("data_offsets", format!("{} bytes, but {dtype} {} takes {len}", bytes.len(), Shape(&shape)))
        }
        Some(_) => {
            return Some(Placed { name, dtype, shape, bytes });
        }
    }
    None
}

/// Checks that the tensors tile the data: no byte in two of them, none in no tensor.
pub(super) fn check_tiling(placed: &mut [Placed], data_len: usize, findings: &mut Findings) {
    placed.sort_by_key(|tensor| (tensor.bytes.start, tensor.bytes.end));
    // A refused tensor leaves a hole of its own, so holes say something only when all were placed.
    let complete = findings.is_empty();
    check_overlaps(placed, findings);
    if complete && findings.is_empty() {
        check_holes(placed, data_len, findings);
    }
}

fn read_dtype(value: &Shallow) -> Result<Dtype, String> {
    let Shallow::Text(text) = value else {
        return Err(format!("is {value}, not the name of a type"));
    };
    let name: StrDeserializer<'_, ValueError> = text.as_str().into_deserializer();
    Dtype::deserialize(name).map_err(|_| format!("\"{}\" is no type of this format", shown(text)))
}

fn read_shape(value: &Shallow) -> Result<Box<[usize]>, String> {
    let Shallow::List(dims, length) = value else {
        return Err(format!("is {value}, not a list"));
    };
    if *length > MOST_DIMS {
        return Err(format!("has {length} dimensions; at most {MOST_DIMS} are read"));
    }
    dims.iter().map(|dim| whole(dim).map_err(|what| format!("holds {what}"))).collect()
}

fn read_offsets(value: &Shallow) -> Result<Range<usize>, String> {
    let Shallow::List(ends, 2) = value else {
        return Err(match value {
            Shallow::List(_, length) => format!("has {length} elements, not 2"),
            _ => format!("is {value}, not a list"),
        });
    };
    let mut read = ends.iter().map(whole);
    let (Some(Ok(begin)), Some(Ok(end))) = (read.next(), read.next()) else {
        return Err("does not hold two byte positions".to_owned());
    };
    if begin > end {
        return Err(format!("begins at {begin}, after its end at {end}"));
    }
    Ok(begin..end)
}

fn whole(value: &Shallow) -> Result<usize, String> {
    match value {
        Shallow::Number(number) => usize::try_from(*number).map_err(|_| format!("{number}, more than this machine can address")),
        other => Err(other.to_string()),
    }
}

/// The bytes of a tensor; `None` if they overflow an address, or end within a byte.
fn byte_len(dtype: Dtype, shape: &[usize]) -> Option<usize> {
    let elements = shape.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim))?;
    let bits = elements.checked_mul(dtype.bitsize())?;
    bits.is_multiple_of(8).then_some(bits / 8)
}

fn check_overlaps(placed: &[Placed], findings: &mut Findings) {
    let mut furthest: Option<&Placed> = None;
    for tensor in placed {
        let bytes = &tensor.bytes;
        if let Some(before) = furthest
            && bytes.start < before.bytes.end
        {
            let other = shown(&before.name);
            let what = format!("bytes {bytes:?} overlap those of {other}, {:?}", before.bytes);
            findings.add_in(&tensor.name, "data_offsets", what);
        }
        if furthest.is_none_or(|before| bytes.end > before.bytes.end) {
            furthest = Some(tensor);
        }
    }
}

/// The format allows no bytes that belong to no tensor: they could hide anything.
fn check_holes(placed: &[Placed], data_len: usize, findings: &mut Findings) {
    let mut at = 0;
    for tensor in placed {
        if tensor.bytes.start > at {
            let what = format!("bytes {at}..{} before it belong to no tensor", tensor.bytes.start);
            findings.add_in(&tensor.name, "data_offsets", what);
        }
        at = tensor.bytes.end;
    }
    if at < data_len {
        findings.add("data", format!("bytes {at}..{data_len} at its end belong to no tensor"));
    }
}
