//! From a config to a proven plan, without weights.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::{DEFAULT_CONTEXT, Error, Family, HOPPER_SHARED_MEMORY};
use crate::load::Config;
use crate::plan::{self, Plan};
use crate::verify::{self, Proof};

/// What a config is planned for.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// The families that a config may be of.
    pub families: &'static [Family],
    /// Workers of a rank: the SMs of the device.
    pub workers: usize,
    /// Most rows of a step.
    pub rows: usize,
    /// Sequences that the cache holds at once.
    pub slots: usize,
    /// Ranks to shard the model over.
    pub ranks: usize,
    /// Positions of a sequence; the model's own, at most [`DEFAULT_CONTEXT`], if not given.
    pub context: Option<usize>,
    /// Cuts the model to these of its layers.
    pub layers: Option<Range<usize>>,
    /// Plans the unfused chain of the model's ops.
    pub chain: bool,
}

/// A plan that is proven, and what its config says beside it.
#[derive(Clone, Debug)]
pub struct Proven {
    /// The plan.
    pub plan: Plan,
    /// What was proven.
    pub proof: Proof,
    /// Token ids are below this.
    pub vocab: usize,
    /// Time to build the graph, fuse it and plan it.
    pub planning: Duration,
    /// Time to prove the plan.
    pub proving: Duration,
}

impl Proven {
    /// Plans the model of `config` and proves the plan.
    ///
    /// # Errors
    /// A config of no family here or with impossible numbers, options that no plan serves, or a plan that is not proven: an
    /// error in the planner.
    pub fn new(config: &Config, options: PlanOptions) -> Result<Proven, Error> {
        let start = Instant::now();
        let family = Family::for_config(options.families, config)?;
        let build = |layers| {
            let mut built = family.build(config, options.ranks, layers)?;
            if !options.chain {
                built.graph = built.graph.fused(family.tasks)?;
            }
            Ok::<_, Error>(built)
        };
        let cut = options.layers.is_some();
        let built = build(options.layers)?;
        let context = match options.context {
            None => built.max_positions.min(DEFAULT_CONTEXT),
            Some(asked) if asked >= 1 && asked <= built.max_positions => asked,
            Some(asked) => return Err(Error::Context { asked, most: built.max_positions }),
        };
        let (workers, rows, slots) = (options.workers, options.rows, options.slots);
        let plan = Plan::new(built.graph, plan::Options { workers, rows, slots, context, shared_memory: HOPPER_SHARED_MEMORY })?;
        let planned = Instant::now();
        if cut {
            verify::slice_keeps_head_and_tail(&build(None)?.graph, &plan.graph).map_err(Error::Slice)?;
        }
        let proof = verify::verify(&plan).map_err(Error::Unproven)?;
        Ok(Proven { plan, proof, vocab: built.vocab, planning: planned - start, proving: planned.elapsed() })
    }
}
