//! Checkpoints: safetensors files, memory-mapped and checked before anything is launched.
//!
//! [`Checkpoint::open`] maps the file or the shards and validates every header (MPK-L0304);
//! [`Checkpoint::resolve`] matches the tensors with those that a model names (MPK-L0301, MPK-L0302);
//! [`Tensor::bf16`] reads one, straight out of the map where the file holds bf16. [`Config::read`]
//! reads `config.json` in either of its spellings. Every error carries all the problems of its kind.

mod checkpoint;
mod config;
mod convert;
mod error;
mod findings;
mod header;
mod index;
mod layout;
mod listing;
mod progress;
mod resolve;
mod shard;
#[cfg(test)]
mod tests;

pub use checkpoint::{Checkpoint, Tensor, TensorId};
pub use config::Config;
pub(crate) use config::read_object;
pub use error::{Found, LoadError, Miss, Nearest, Problem, Unused};
pub(crate) use index::read_text;
pub use progress::Progress;
pub use resolve::Want;
pub use safetensors::Dtype;
