//! The weights of a model out of its checkpoint.

use std::collections::BTreeMap;

use half::bf16;

use crate::graph::Graph;
use crate::host::Tensors;
use crate::load::{Checkpoint, LoadError, Progress, TensorId, Want};

/// A checkpoint in which every tensor that a graph names has been found, with the shape it takes.
pub struct Weights {
    checkpoint: Checkpoint,
    /// By the first of its names.
    found: BTreeMap<String, TensorId>,
}

impl Weights {
    /// Finds all weights of `graph`; also lines for the user about types that were rounded.
    ///
    /// # Errors
    /// MPK-L0301 and L0302, all misses at once; or a tied tensor that is not what it is tied to.
    pub fn resolve(checkpoint: Checkpoint, graph: &Graph, progress: &mut Progress) -> Result<(Weights, Vec<String>), LoadError> {
        let wants: Vec<Want> = graph
            .weights
            .iter()
            .flat_map(|weight| weight.sources())
            .map(|source| Want { names: source.names, shape: source.shape })
            .collect();
        let mut extras = graph.extras.clone();
        for (copy, of) in &graph.ties {
            checkpoint.check_copy(&copy.names, &of.names)?;
            extras.extend(copy.names.iter().cloned());
        }
        let ids = checkpoint.resolve(&wants, &extras)?;
        let notices = checkpoint.round(&ids, &mut |done, total| progress.update(done, total))?;
        let found = wants.into_iter().zip(ids).filter_map(|(want, id)| Some((want.names.into_iter().next()?, id))).collect();
        Ok((Weights { checkpoint, found }, notices))
    }
}

impl Tensors for Weights {
    fn bf16(&self, names: &[String]) -> Option<&[bf16]> {
        let id = self.found.get(names.first()?)?;
        self.checkpoint.tensor(*id).bf16().ok()
    }
}
