//! The library as a program uses it: load a checkpoint, generate tokens.

mod error;
mod family;
mod generation;
mod proven;
mod runner;
mod tensors;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use error::Error;
pub use family::{Built, Family};
pub use generation::{Cancel, End, Generation, Params, Token};
pub use proven::{PlanOptions, Proven};

use crate::graph::TensorId;
use crate::load::{Checkpoint, Config, Progress};
use crate::plan::Plan;
use crate::step::{PAGE_POSITIONS, Row, StepRows};
use crate::text::Tokenizer;
use runner::{Runner, Target, on_the_host};
use tensors::Weights;

/// Workers of a rank on the host. The bits of a result depend on it, so it is the same on every machine.
pub const HOST_WORKERS: usize = 8;
/// Positions that the cache holds if nothing else is asked for, at most.
pub const DEFAULT_CONTEXT: usize = 8192;
/// Shared memory of a worker in bytes, on Hopper: the plan of the host is one that a GPU could run.
pub const HOPPER_SHARED_MEMORY: usize = 227 * 1024;
/// Rows of a step, and so tokens of a prompt that are computed at once.
pub const ROWS: usize = 16;

/// Where a plan runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// On a GPU if there is one that can run it, else on the host.
    Auto,
    /// On the CPU.
    Host,
    /// On a GPU.
    Cuda,
}

/// How a model is loaded.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The families that a checkpoint may be of.
    pub families: &'static [Family],
    /// Where to run.
    pub backend: Backend,
    /// Ranks to shard the model over.
    pub ranks: usize,
    /// Threads of the host executor; all cores if not given. They do not change the bits.
    pub threads: Option<usize>,
    /// Positions that the cache holds; the model's own, at most [`DEFAULT_CONTEXT`], if not given.
    pub max_context: Option<usize>,
    /// Runs the unfused chain of the model's ops: the ground truth of every fused plan.
    pub chain: bool,
}

impl Options {
    /// The defaults for these families.
    pub const fn new(families: &'static [Family]) -> Options {
        Options { families, backend: Backend::Auto, ranks: 1, threads: None, max_context: None, chain: false }
    }
}

/// The proven plan of a model for where it will run: one sequence, prompts by [`ROWS`].
fn plan_for(target: &Target, config: &Config, options: Options) -> Result<Proven, Error> {
    let plan = PlanOptions {
        families: options.families,
        workers: target.workers(),
        rows: ROWS,
        slots: 1,
        ranks: options.ranks,
        context: options.max_context,
        layers: None,
        chain: options.chain,
    };
    Proven::new(config, plan)
}

/// A loaded model, ready to generate.
///
/// ```no_run
/// use std::path::Path;
///
/// use mpk_runtime::engine::{End, Engine, Error, Family, Options, Params};
///
/// /// The families to choose from are the program's: here it is given them.
/// fn answer(families: &'static [Family]) -> Result<(), Error> {
///     let mut engine = Engine::load(Path::new("Qwen3-0.6B"), Options::new(families))?;
///     let tokenizer = engine.tokenizer()?;
///     let ids = tokenizer.encode("In the beginning", true)?;
///     let mut text = tokenizer.stream(&ids, true);
///     for token in engine.generate(&ids, Params { max_new_tokens: 64, end: End::Stop })? {
///         // A token may end in the middle of a character: text comes when it is complete.
///         if let Some(piece) = text.push(token?.id) {
///             print!("{piece}");
///         }
///     }
///     Ok(())
/// }
/// # let _ = answer;
/// ```
pub struct Engine {
    executor: Runner,
    dir: PathBuf,
    vocab: usize,
    context: usize,
    end_ids: Vec<u32>,
    logits: TensorId,
    notices: Vec<String>,
}

impl Engine {
    /// Loads the checkpoint in `dir`, plans it and proves the plan.
    ///
    /// # Errors
    /// See [`Error`]: everything is checked before anything runs.
    pub fn load(dir: &Path, options: Options) -> Result<Engine, Error> {
        let mut notices = Vec::new();
        let mut target = Target::choose(options.backend, options.ranks, &mut notices)?;
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let threads = options.threads.unwrap_or(cores);
        if threads == 0 {
            return Err(Error::NoThreads);
        }
        let config = Config::read(dir)?;
        let end_ids = config.end_ids()?;
        let mut proven = plan_for(&target, &config, options)?;
        let checkpoint = Checkpoint::open(dir)?;
        let (weights, rounded) =
            Weights::resolve(checkpoint, &proven.plan.graph, &mut Progress::new("rounding weights to bf16"))?;
        let weights = Arc::new(weights);
        notices.extend(rounded);
        let (vocab, context) = (proven.vocab, proven.plan.options.context);
        let logits = proven.plan.graph.logits().ok_or(Error::NoLogits)?;
        let executor = loop {
            let falls_back = options.backend == Backend::Auto && matches!(target, Target::Cuda(_));
            match Runner::new(target, proven.plan, weights.clone(), threads) {
                // A GPU that can't run this model: no compiler, too little memory.
                Err(Error::Cuda(why)) if falls_back => {
                    notices.push(on_the_host(&why));
                    target = Target::Host;
                    proven = plan_for(&target, &config, options)?;
                }
                made => break made?,
            }
        };
        Ok(Engine { executor, dir: dir.to_path_buf(), vocab, context, end_ids, logits, notices })
    }

    /// Lines that the user should see: what was rounded, why this backend.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The name of the backend that runs: `host` or `cuda`.
    pub fn backend(&self) -> &'static str {
        self.executor.name()
    }

    /// The plan that runs.
    pub fn plan(&self) -> &Plan {
        self.executor.plan()
    }

    /// Positions that a prompt and its continuation may have together.
    pub fn context(&self) -> usize {
        self.context
    }

    /// Ids after which a generation ends.
    pub fn end_ids(&self) -> &[u32] {
        &self.end_ids
    }

    /// The tokenizer of the checkpoint.
    ///
    /// # Errors
    /// The checkpoint has none, or one that can't be read.
    pub fn tokenizer(&self) -> Result<Tokenizer, Error> {
        Ok(Tokenizer::open(&self.dir)?)
    }

    /// Generates greedily from `ids`.
    ///
    /// # Errors
    /// No ids, ids outside of the vocabulary, no tokens asked for, or a prompt that fills the context. Nothing has run then.
    pub fn generate(&mut self, ids: &[u32], params: Params) -> Result<Generation<'_>, Error> {
        self.check_prompt(ids)?;
        if params.max_new_tokens == 0 {
            return Err(Error::NoTokens);
        }
        Ok(Generation::new(self, ids, params))
    }

    /// The logits after the last of `prompt` and after each of `forced`, which are fed one by one: what a comparison with another
    /// implementation takes.
    ///
    /// # Errors
    /// As [`Engine::generate`].
    pub fn logits(&mut self, prompt: &[u32], forced: &[u32]) -> Result<Vec<Vec<f32>>, Error> {
        self.check_prompt(prompt)?;
        let mut all = vec![self.logits_after(prompt, 0)?];
        for (i, id) in forced.iter().enumerate() {
            self.check_ids(&[*id])?;
            if prompt.len() + i >= self.context {
                return Err(Error::Prompt { tokens: prompt.len() + forced.len(), context: self.context });
            }
            all.push(self.logits_after(&[*id], prompt.len() + i)?);
        }
        Ok(all)
    }

    fn logits_after(&mut self, ids: &[u32], position: usize) -> Result<Vec<f32>, Error> {
        let steps = self.steps_of(ids, position);
        for rows in &steps {
            self.executor.step(rows)?;
        }
        steps.last().map_or(Ok(Vec::new()), |rows| self.executor.row(self.logits, rows.len() - 1))
    }

    fn check_prompt(&self, ids: &[u32]) -> Result<(), Error> {
        if ids.is_empty() {
            return Err(Error::NoPrompt);
        }
        if ids.len() >= self.context {
            return Err(Error::Prompt { tokens: ids.len(), context: self.context });
        }
        self.check_ids(ids)
    }

    fn check_ids(&self, ids: &[u32]) -> Result<(), Error> {
        match ids.iter().find(|id| **id as usize >= self.vocab) {
            Some(id) => Err(Error::Id { id: *id, vocab: self.vocab }),
            None => Ok(()),
        }
    }

    /// The steps that feed `ids` at positions from `position` on; the last row of the last one samples.
    fn steps_of(&self, ids: &[u32], position: usize) -> Vec<StepRows> {
        let pages: Vec<usize> = (0..self.context.div_ceil(PAGE_POSITIONS)).collect();
        let row = |(i, token): (usize, &u32)| Row { slot: 0, position: position + i, token: *token, sample: i + 1 == ids.len() };
        let rows: Vec<Row> = ids.iter().enumerate().map(row).collect();
        rows.chunks(ROWS).map(|rows| StepRows::new(rows.to_vec(), vec![pages.clone()])).collect()
    }
}
