//! What can be wrong with a checkpoint, as data; the text for users is made here too.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use safetensors::Dtype;

use super::listing::{Shape, fold_numbered, list, shown};

/// Why a checkpoint cannot be used. Each variant holds every problem of its kind that was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A file that must be there could not be read.
    #[error(
        "cannot read {}: {source}\nhelp: check the path and its permissions", path.display()
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },

    /// The folder has neither `model.safetensors` nor an index of shards.
    #[error(
        "no checkpoint in {}: neither model.safetensors nor model.safetensors.index.json{}\n\
         help: name the folder that holds a Hugging Face checkpoint in safetensors format",
        dir.display(), other_weights(others)
    )]
    NoCheckpoint {
        /// The folder.
        dir: PathBuf,
        /// Files in it that look like weights in another form.
        others: Vec<String>,
    },

    /// MPK-L0304: files that are truncated, corrupt or hostile, or a field with an impossible value.
    #[error("{}", malformed(problems, help))]
    Malformed {
        /// Everything found, in the order of the files.
        problems: Vec<Problem>,
        /// What the user can do.
        help: Cow<'static, str>,
    },

    /// MPK-L0301 and MPK-L0302: the checkpoint does not hold what the model names, or holds more.
    #[error("{}", mismatch(dir, misses, unused))]
    Mismatch {
        /// The checkpoint.
        dir: PathBuf,
        /// Tensors that the model names and that are missing or differ (MPK-L0301).
        misses: Vec<Miss>,
        /// Tensors that nothing in the model uses (MPK-L0302).
        unused: Vec<Unused>,
    },

    /// MPK-L0301: a tensor was asked for in a type that its own cannot become.
    #[error(
        "MPK-L0301: {}: tensor {} is {dtype} and cannot be read as {wanted}\n\
         help: {}", path.display(), shown(tensor), READABLE
    )]
    Type {
        /// The file that holds the tensor.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Its type in the file.
        dtype: Dtype,
        /// The type asked for.
        wanted: Dtype,
    },

    /// MPK-L0301: two tensors that the config ties differ, so that one of them would be left out.
    #[error(
        "MPK-L0301: {}: tensor {} is not a copy of {}, to which the config ties it\n\
         help: set `tie_word_embeddings` to false in config.json if the model has both, or remove the tensor that it does not use",
        path.display(), shown(tensor), shown(of)
    )]
    Tied {
        /// The file that holds the first.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// What it should equal.
        of: String,
    },

    /// `config.json` names no architecture, or one that is not known.
    #[error("{}", architecture(path, found, known))]
    Architecture {
        /// The config.
        path: PathBuf,
        /// `architectures[0]`, if there is one.
        found: Option<String>,
        /// The architectures that the program knows.
        known: Vec<String>,
    },
}

/// What can be read as weights, for help lines.
const READABLE: &str = "BF16, F16 and F32 can be read; use the checkpoint that was published in one of these types";

/// One thing wrong in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub path: PathBuf,
    /// The field of it, for example `model.norm.weight.data_offsets`.
    pub field: String,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.path.display(), shown(&self.field), self.what)
    }
}

/// A tensor that the model names and the checkpoint does not hold in that form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// The names that would have done, best first.
    pub names: Vec<String>,
    /// The shape that the model expects, in elements.
    pub shape: Vec<usize>,
    /// What the checkpoint has instead.
    pub found: Found,
}

/// What stands in the place of a tensor that was not found as expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// No tensor of that name; the existing one with the nearest name, if any is near.
    Nothing(Option<Nearest>),
    /// The tensor `name` has this other shape.
    Shape {
        /// The first of the names that exists.
        name: String,
        /// Its shape in the file.
        shape: Vec<usize>,
    },
    /// The tensor `name` has a type that cannot be read as weights.
    Type {
        /// The first of the names that exists.
        name: String,
        /// Its type in the file.
        dtype: Dtype,
    },
}

/// An existing tensor whose name is close to one that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
}

/// A tensor of the checkpoint that nothing in the model uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unused {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its type in the file.
    pub dtype: Dtype,
}

impl LoadError {
    /// Problems with weight files.
    pub(super) fn weights(problems: Vec<Problem>) -> Self {
        let pointer = problems.iter().any(|problem| problem.what == POINTER);
        Self::Malformed { problems, help: if pointer { POINTER_HELP } else { WEIGHTS_HELP }.into() }
    }

    /// A single problem with a field of a JSON file beside the weights.
    pub(crate) fn field(path: &Path, field: impl Into<String>, what: impl Into<String>) -> Self {
        Self::field_with_help(path, field, what, JSON_HELP)
    }

    /// The same where something else helps.
    pub(super) fn field_with_help(
        path: &Path,
        field: impl Into<String>,
        what: impl Into<String>,
        help: impl Into<Cow<'static, str>>,
    ) -> Self {
        let problem = Problem { path: path.to_owned(), field: field.into(), what: what.into() };
        Self::Malformed { problems: vec![problem], help: help.into() }
    }
}

/// Help for weight files.
const WEIGHTS_HELP: &str = "the files are damaged, incomplete, or were not written by \
                                       safetensors: fetch the checkpoint again and compare its checksums";

/// What is said of a file that Git LFS has left in the place of another.
pub(super) const POINTER: &str = "is a Git LFS pointer: the weights themselves were not fetched";

/// Help for such files.
const POINTER_HELP: &str = "run `git lfs pull` in the folder of the checkpoint, or fetch the file from where it was published";

/// Help for the JSON files beside them.
pub(super) const JSON_HELP: &str = "correct the field, or fetch the file again from where the checkpoint was published";

fn malformed(problems: &[Problem], help: &str) -> String {
    match problems {
        [one] => format!("MPK-L0304: {one}\nhelp: {help}"),
        _ => {
            let title = "MPK-L0304: the checkpoint's files have these problems:";
            list(title, problems.iter().map(ToString::to_string).collect(), help)
        }
    }
}

fn mismatch(dir: &Path, misses: &[Miss], unused: &[Unused]) -> String {
    let mut parts = Vec::new();
    if !misses.is_empty() {
        parts.push(list(
            &format!(
                "MPK-L0301: {} that the model names {} in {}:",
                tensors(misses.len()),
                if misses.len() == 1 { "is missing or differs" } else { "are missing or differ" },
                dir.display()
            ),
            fold_numbered(misses.iter().map(ToString::to_string).collect()),
            "check that config.json belongs to these weights, `tie_word_embeddings` too, and the names and shapes in the model",
        ));
    }
    if !unused.is_empty() {
        parts.push(list(
            &format!(
                "MPK-L0302: {} of the checkpoint {} used by nothing in the model, in {}:",
                tensors(unused.len()),
                if unused.len() == 1 { "is" } else { "are" },
                dir.display()
            ),
            fold_numbered(unused.iter().map(ToString::to_string).collect()),
            "check that config.json belongs to these weights; in a model of your own use each, or name it as unneeded: extra \"NAME\";",
        ));
    }
    parts.join("\n")
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.names.iter().map(|name| shown(name)).collect();
        write!(f, "{} {}: ", names.join(" or "), Shape(&self.shape))?;
        let other = |name: &String| {
            if self.names.first() == Some(name) { String::new() } else { format!("{} ", shown(name)) }
        };
        match &self.found {
            Found::Nothing(None) => write!(f, "missing, and no name is near"),
            Found::Nothing(Some(near)) => {
                write!(f, "missing; the nearest name is {} {}", shown(&near.name), Shape(&near.shape))
            }
            Found::Shape { name, shape } => {
                write!(f, "{}has shape {} in the checkpoint", other(name), Shape(shape))
            }
            Found::Type { name, dtype } => {
                write!(f, "{}has type {dtype}; {READABLE}", other(name))
            }
        }
    }
}

impl fmt::Display for Unused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", shown(&self.name), self.dtype, Shape(&self.shape))
    }
}

fn tensors(count: usize) -> String {
    format!("{count} tensor{}", if count == 1 { "" } else { "s" })
}

fn other_weights(others: &[String]) -> String {
    if others.is_empty() {
        return String::new();
    }
    let names: Vec<String> = others.iter().map(|name| shown(name)).collect();
    format!(" (it holds {})", names.join(", "))
}

fn architecture(path: &Path, found: &Option<String>, known: &[String]) -> String {
    let what = match found {
        Some(name) => format!("architecture {} is not known", shown(name)),
        None => "no architecture is named".to_owned(),
    };
    format!(
        "{}: architectures[0]: {what}\nhelp: known are {}; another one needs its own model! description",
        path.display(),
        known.join(", ")
    )
}
