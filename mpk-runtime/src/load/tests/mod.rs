//! Tests of loading, against the fixtures and the safetensors library.

mod config;
mod convert;
mod hostile;
mod open;
mod resolve;

use std::path::{Path, PathBuf};

use super::{Checkpoint, LoadError};

/// A checkpoint that ships with the examples.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name)
}

/// The bytes of a safetensors file with this header and data.
fn file(header: impl AsRef<[u8]>, data: &[u8]) -> Vec<u8> {
    let header = header.as_ref();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header);
    bytes.extend_from_slice(data);
    bytes
}

/// Opens a checkpoint of one file with these bytes. The folder's name is cut from errors.
fn open_bytes(bytes: &[u8]) -> Result<Checkpoint, String> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("model.safetensors"), bytes).unwrap();
    Checkpoint::open(dir.path()).map_err(|error| message(&error, dir.path()))
}

/// The text of an error, without the folder it happened in.
fn message(error: &LoadError, dir: &Path) -> String {
    error.to_string().replace(&format!("{}/", dir.display()), "").replace(&dir.display().to_string(), "DIR")
}
