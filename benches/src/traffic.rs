//! The bytes that a step has to read, whatever runs it.

use std::collections::HashSet;

use mpk_runtime::graph::NodeArg;
use mpk_runtime::plan::{Plan, State};
use mpk_runtime::shape::Elem;
use mpk_runtime::step::PAGE_POSITIONS;
use serde::Serialize;

/// Bytes of a decode step with one row for each sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Weights, each read once: matrices, norms and biases, without the padding of the packed form.
    pub weights: usize,
    /// Keys and values of the cached positions.
    pub cache: usize,
    /// The rows of the embedding that the tokens take.
    pub embedding: usize,
}

impl Traffic {
    /// The bytes of a step of `plan` in which each of `batch` sequences has `cached` positions before it.
    pub fn of(plan: &Plan, batch: usize, cached: usize) -> Traffic {
        let (mut read, mut weights, mut embedding) = (HashSet::new(), 0, 0);
        for (node, op) in plan.graph.ops.iter().zip(&plan.ops) {
            for arg in &node.args {
                let NodeArg::Weight(weight) = *arg else { continue };
                let packed = &plan.weights[weight];
                if packed.fragments && op.weight_bytes == 0 {
                    // An op that streams nothing gathers rows of its table; it may be another op's weight too.
                    embedding += batch * packed.cols * Elem::Bf16.size();
                } else if read.insert(weight) {
                    weights += packed.rows * packed.cols * Elem::Bf16.size();
                }
            }
        }
        let position: usize =
            plan.states.iter().filter(is_cache).map(|state| state.bytes() / (plan.pages * PAGE_POSITIONS)).sum();
        Traffic { weights, cache: position * cached * batch, embedding }
    }

    /// All of them.
    pub fn total(&self) -> usize {
        self.weights + self.cache + self.embedding
    }
}

/// Whether a state is a cache of keys and values: bf16 elements by position, where other states are counts.
pub fn is_cache(state: &&State) -> bool {
    state.held.is_none() && state.elem == Elem::Bf16
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use mpk_runtime::engine::{PlanOptions, Proven};
    use mpk_runtime::load::Config;

    use super::*;

    fn plan(name: &str, slots: usize, chain: bool) -> Plan {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/configs").join(name);
        let options = PlanOptions {
            families: models::FAMILIES,
            workers: 132,
            rows: slots,
            slots,
            ranks: 1,
            context: Some(640),
            layers: None,
            chain,
        };
        Proven::new(&Config::read(&file).unwrap(), options).unwrap().plan
    }

    #[test]
    fn a_tied_table_is_read_once_and_by_row() {
        for chain in [false, true] {
            // Layers of 28, hidden 1024, 16 query and 8 key heads of 128, inner 3072, vocabulary 151,936.
            let layer = 1024 * (2 * 2048 + 2 * 1024) + 3 * 1024 * 3072 + 2 * 1024 + 2 * 128;
            let weights = 2 * (28 * layer + 1024 + 151_936 * 1024);
            let of = Traffic::of(&plan("Qwen3-0.6B.json", 2, chain), 2, 512);
            assert_eq!(of, Traffic { weights, cache: 2 * 512 * 28 * 2 * 1024 * 2, embedding: 2 * 1024 * 2 });
            assert_eq!(of.weights, 1_192_099_840);
        }
    }

    #[test]
    fn an_untied_table_is_read_by_row_only() {
        let of = Traffic::of(&plan("Qwen3-8B.json", 1, false), 1, 0);
        assert_eq!((of.cache, of.embedding), (0, 4096 * 2));
        // Twice the parameters but for the embedding.
        assert_eq!(of.total() - of.embedding, 2 * (8_190_735_360 - 151_936 * 4096));
    }
}
