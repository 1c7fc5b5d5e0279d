//! A checkpoint of one file or of many shards, and access to its tensors.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use half::bf16;
use safetensors::Dtype;

use super::error::{LoadError, Problem};
use super::findings::Findings;
use super::index::Index;
use super::listing::shown;
use super::shard::Shard;

/// A safetensors checkpoint, memory-mapped: opening reads headers only, bytes come when they are touched.
#[derive(Debug)]
pub struct Checkpoint {
    dir: PathBuf,
    shards: Vec<Shard>,
    /// Sorted by name.
    records: Vec<Record>,
}

#[derive(Debug)]
pub(super) struct Record {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Box<[usize]>,
    shard: usize,
    bytes: Range<usize>,
    /// The tensor in bf16 where the file does not hold it so, once it was asked for.
    pub rounded: OnceLock<Vec<bf16>>,
}

/// A tensor of one [`Checkpoint`]; it means nothing to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TensorId(pub(super) usize);

/// One tensor, borrowed from its checkpoint.
#[derive(Debug, Clone, Copy)]
pub struct Tensor<'a> {
    pub(super) record: &'a Record,
    shard: &'a Shard,
}

impl Checkpoint {
    /// Opens the checkpoint in the folder `dir`: `model.safetensors`, or else `model.safetensors.index.json` and its
    /// shards. Memory use stays in proportion to the headers, whatever they claim.
    ///
    /// The files stay mapped while the checkpoint lives. Changing or truncating them meanwhile is undefined: at best
    /// the weights change, at worst the process is killed by the system.
    ///
    /// # Errors
    /// [`LoadError::NoCheckpoint`], [`LoadError::Read`], or [`LoadError::Malformed`] (MPK-L0304) with every
    /// problem of every file.
    pub fn open(dir: &Path) -> Result<Self, LoadError> {
        let whole = dir.join("model.safetensors");
        if whole.exists() {
            return Self::build(dir, &[whole], None);
        }
        let index_path = dir.join("model.safetensors.index.json");
        if !index_path.exists() {
            return Err(no_checkpoint(dir));
        }
        let index = Index::read(&index_path)?;
        let paths: Vec<PathBuf> = index.shards().into_iter().map(|name| dir.join(name)).collect();
        Self::build(dir, &paths, Some((&index_path, &index)))
    }

    /// Opens a single safetensors file of any name, for example the reference logits of a test.
    ///
    /// # Errors
    /// As [`Checkpoint::open`].
    pub fn open_file(path: &Path) -> Result<Self, LoadError> {
        Self::build(path, &[path.to_owned()], None)
    }

    fn build(dir: &Path, paths: &[PathBuf], index: Option<(&Path, &Index)>) -> Result<Self, LoadError> {
        let mut problems = Vec::new();
        let mut shards = Vec::with_capacity(paths.len());
        let mut records = Vec::new();
        let mut damaged = HashSet::new();
        for path in paths {
            let Some((shard, placed)) = Shard::open(path, &mut problems) else {
                damaged.insert(path.clone());
                continue;
            };
            records.extend(placed.into_iter().map(|tensor| Record {
                name: tensor.name,
                dtype: tensor.dtype,
                shape: tensor.shape,
                shard: shards.len(),
                bytes: tensor.bytes,
                rounded: OnceLock::new(),
            }));
            shards.push(shard);
        }
        records.sort_by(|a, b| a.name.cmp(&b.name));
        problems.extend(twice(dir, &shards, &records));
        let checkpoint = Self { dir: dir.to_owned(), shards, records };
        if let Some((path, index)) = index {
            checkpoint.check_index(path, index, &damaged, &mut problems);
        }
        if problems.is_empty() { Ok(checkpoint) } else { Err(LoadError::weights(problems)) }
    }

    /// Every tensor of the index must lie in the shard that it names, unless that shard is reported already.
    fn check_index(&self, index_path: &Path, index: &Index, damaged: &HashSet<PathBuf>, problems: &mut Vec<Problem>) {
        let mut findings = Findings::default();
        for (name, shard) in &index.weight_map {
            let path = self.dir.join(shard);
            if damaged.contains(&path) {
                continue;
            }
            let found = self.find(name).map(|id| &self.shards[self.records[id.0].shard].path);
            if found == Some(&path) {
                continue;
            }
            let instead = match found {
                Some(other) => format!("it is in {}", other.display()),
                None => "no other shard has it".to_owned(),
            };
            let what = format!("the tensor is not in {}; {instead}", shown(shard));
            findings.add_in("weight_map", name, what);
        }
        problems.extend(findings.into_problems(index_path));
    }

    /// The folder, or the file where a single one was opened.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The mapped files, in the order of their names.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.shards.iter().map(|shard| shard.path.as_path())
    }

    /// All tensors, in the order of their names.
    pub fn ids(&self) -> impl Iterator<Item = TensorId> + use<> {
        (0..self.records.len()).map(TensorId)
    }

    /// The tensor of this name.
    pub fn find(&self, name: &str) -> Option<TensorId> {
        self.records.binary_search_by(|record| record.name.as_str().cmp(name)).ok().map(TensorId)
    }

    /// The tensor `id`, which must come from this checkpoint.
    pub fn tensor(&self, id: TensorId) -> Tensor<'_> {
        let record = &self.records[id.0];
        Tensor { record, shard: &self.shards[record.shard] }
    }
}

impl<'a> Tensor<'a> {
    /// Its name in the checkpoint.
    pub fn name(&self) -> &'a str {
        &self.record.name
    }

    /// Its shape in elements, slowest dimension first.
    pub fn shape(&self) -> &'a [usize] {
        &self.record.shape
    }

    /// Its type in the file.
    pub fn dtype(&self) -> Dtype {
        self.record.dtype
    }

    /// Its bytes in the file, row-major and little-endian, not necessarily aligned.
    pub fn bytes(&self) -> &'a [u8] {
        self.shard.bytes(&self.record.bytes)
    }

    /// The file that holds it.
    pub fn file(&self) -> &'a Path {
        &self.shard.path
    }
}

/// Names that two tensors have, in one file or in two. `records` are sorted by name.
fn twice(dir: &Path, shards: &[Shard], records: &[Record]) -> impl Iterator<Item = Problem> {
    let mut findings = Findings::default();
    for (first, second) in records.iter().zip(records.iter().skip(1)) {
        if first.name == second.name {
            let [a, b] = [first, second].map(|record| shards[record.shard].path.display());
            findings.add(&first.name, format!("two tensors have this name, in {a} and in {b}"));
        }
    }
    findings.into_problems(dir)
}

fn no_checkpoint(dir: &Path) -> LoadError {
    let listing = match std::fs::read_dir(dir) {
        Ok(listing) => listing,
        Err(source) => {
            return LoadError::Read { path: dir.to_owned(), source };
        }
    };
    let names = listing.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_weights = |name: &String| [".safetensors", ".bin", ".pt", ".pth", ".gguf"].iter().any(|end| name.ends_with(end));
    let mut others: Vec<String> = names.filter(is_weights).collect();
    others.sort();
    others.truncate(5);
    LoadError::NoCheckpoint { dir: dir.to_owned(), others }
}
