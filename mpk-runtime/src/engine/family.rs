//! The model families that a program knows.

use std::ops::Range;

use super::Error;
use crate::graph::{Builder, Graph, Model, ModelConfig};
use crate::load::Config;
use crate::task::TaskDef;

/// A model family: which checkpoints are of it, and how its graph is built.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// Values of `architectures` in `config.json`.
    pub architectures: &'static [&'static str],
    /// The tasks that its peepholes are taken from.
    pub tasks: &'static [&'static TaskDef],
    build: Build,
}

/// Builds the graph of a config for a number of ranks, whole or a slice of its layers.
type Build = fn(&Config, usize, Option<Range<usize>>) -> Result<Built, Error>;

/// A graph, and what a program needs to know of its config.
#[derive(Clone, Debug)]
pub struct Built {
    /// The chain of the model's ops.
    pub graph: Graph,
    /// Token ids are below this.
    pub vocab: usize,
    /// Positions the model was made for.
    pub max_positions: usize,
}

impl Family {
    /// The family of model `M`.
    pub const fn of<M: Model>(architectures: &'static [&'static str], tasks: &'static [&'static TaskDef]) -> Family {
        Family { name: M::NAME, architectures, tasks, build: build::<M> }
    }

    /// The family that a config is of.
    ///
    /// # Errors
    /// The config names no architecture, or one that no family has.
    pub fn for_config(families: &'static [Family], config: &Config) -> Result<Family, Error> {
        let known: Vec<_> = families.iter().flat_map(|f| f.architectures.iter().map(move |name| (*name, *f))).collect();
        Ok(config.architecture(&known)?)
    }

    /// Builds the graph of a config for `ranks` ranks; `layers` cuts it to a slice.
    ///
    /// # Errors
    /// No ranks, a config that is not of this family, or dimensions that do not divide.
    pub fn build(&self, config: &Config, ranks: usize, layers: Option<Range<usize>>) -> Result<Built, Error> {
        if ranks == 0 {
            return Err(Error::NoRanks);
        }
        (self.build)(config, ranks, layers)
    }
}

fn build<M: Model>(config: &Config, ranks: usize, layers: Option<Range<usize>>) -> Result<Built, Error> {
    let config: M::Config = config.deserialize()?;
    let mut builder = Builder::new(M::NAME, ranks, layers, config.tie_word_embeddings());
    let output = M::build(&config, &mut builder)?;
    Ok(Built { graph: builder.finish(output), vocab: config.vocab_size(), max_positions: config.max_positions() })
}
