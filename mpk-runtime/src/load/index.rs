//! `model.safetensors.index.json`: which shard holds which tensor.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};

use super::error::{JSON_HELP, LoadError};
use super::findings::Findings;
use super::header::Shallow;
use super::listing::shown;

/// The longest index that is read, in bytes: many times that of the largest checkpoint known.
const LONGEST_INDEX: u64 = 100_000_000;

/// The most tensors that an index may name.
const MOST_ENTRIES: usize = 1 << 20;

/// The index: tensor names with the file name of their shard, in file order.
#[derive(Debug)]
pub(super) struct Index {
    pub weight_map: Vec<(String, String)>,
}

impl Index {
    /// Reads the index. Every entry that names no plain file is reported at once.
    pub fn read(path: &Path) -> Result<Self, LoadError> {
        let text = read_text(path, LONGEST_INDEX)?;
        let raw: RawIndex =
            serde_json::from_str(&text).map_err(|error| LoadError::field(path, "weight_map", error.to_string()))?;
        let mut findings = Findings::default();
        let mut weight_map = Vec::with_capacity(raw.weight_map.0.len());
        for (tensor, shard) in raw.weight_map.0 {
            let what = match shard {
                Shallow::Text(name) if is_plain(&name) => {
                    weight_map.push((tensor, name));
                    continue;
                }
                Shallow::Text(name) => {
                    format!("\"{}\" is not the name of a file beside the index", shown(&name))
                }
                other => format!("is {other}, not a file name"),
            };
            findings.add_in("weight_map", &tensor, what);
        }
        if findings.is_empty() && weight_map.is_empty() {
            findings.add("weight_map", "names no tensor".to_owned());
        }
        if findings.is_empty() {
            Ok(Self { weight_map })
        } else {
            let problems = findings.into_problems(path).collect();
            Err(LoadError::Malformed { problems, help: JSON_HELP.into() })
        }
    }

    /// The file names of all shards, sorted.
    pub fn shards(&self) -> BTreeSet<&str> {
        self.weight_map.iter().map(|(_, shard)| shard.as_str()).collect()
    }
}

/// A shard lies beside its index: a path out of the folder could name any file of the machine.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}

/// Reads a text file of at most `most` bytes.
pub(crate) fn read_text(path: &Path, most: u64) -> Result<String, LoadError> {
    let unread = |source| LoadError::Read { path: path.to_owned(), source };
    let about = std::fs::metadata(path).map_err(unread)?;
    if !about.is_file() {
        return Err(unread(std::io::Error::other("it is not a regular file")));
    }
    if about.len() > most {
        return Err(LoadError::field(path, "size", format!("{} bytes; at most {most} are read", about.len())));
    }
    let bytes = std::fs::read(path).map_err(unread)?;
    String::from_utf8(bytes).map_err(|error| LoadError::field(path, "text", format!("is not UTF-8: {}", error.utf8_error())))
}

#[derive(Deserialize)]
struct RawIndex {
    weight_map: Pairs,
}

/// An object as it stands in the file, keys in order and repeated keys kept.
struct Pairs(Vec<(String, Shallow)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct PairsVisitor;
        impl<'de> Visitor<'de> for PairsVisitor {
            type Value = Pairs;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object of tensor names and file names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    if pairs.len() == MOST_ENTRIES {
                        return Err(serde::de::Error::custom(format!("more than {MOST_ENTRIES} tensors")));
                    }
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        from.deserialize_map(PairsVisitor)
    }
}
