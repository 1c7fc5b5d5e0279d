//! Decoding as it is measured: one row for each sequence, token after token.

use std::time::{Duration, Instant};

use mpk_runtime::cuda::error::CudaError;
use mpk_runtime::cuda::executor::Executor;
use mpk_runtime::goldens::{Agreement, Comparing, Continuation};
use mpk_runtime::graph::TensorId;
use mpk_runtime::step::{Command, PAGE_POSITIONS, Row, Sampled, StepRows};

use crate::ceiling::median;
use crate::random::{Generator, Tensor};
use crate::traffic::is_cache;

/// Timed repetitions; one more runs before them.
const REPETITIONS: usize = 5;

/// Sequences that are decoded together on a GPU, one in each slot of the plan.
pub struct Decoder {
    executor: Executor,
    batch: usize,
    vocab: usize,
    logits: TensorId,
    pages: Vec<Vec<usize>>,
}

/// What the timed repetitions gave.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Time of a step in each repetition: all of its time over its steps.
    pub steps: Vec<Duration>,
    /// Whether all gave the same tokens (MPK-R0402).
    pub same_tokens: bool,
}

impl Timing {
    /// The shortest.
    pub fn best(&self) -> Duration {
        self.steps.iter().min().copied().unwrap_or_default()
    }

    /// The median.
    pub fn median(&self) -> Duration {
        median(self.steps.clone())
    }
}

impl Decoder {
    /// A decoder of all slots of the executor's plan; token ids are below `vocab`, and `logits` is what they are chosen from.
    pub fn new(executor: Executor, vocab: usize, logits: TensorId) -> Decoder {
        let options = &executor.plan().options;
        let slot_pages = options.context.div_ceil(PAGE_POSITIONS);
        let pages = (0..options.slots).map(|slot| (slot * slot_pages..(slot + 1) * slot_pages).collect()).collect();
        Decoder { batch: options.slots, executor, vocab, logits, pages }
    }

    /// Compares every sequence with references, all fed the same tokens; what is returned is the one furthest off.
    ///
    /// # Errors
    /// A step does not come to its end.
    pub fn compare(&mut self, goldens: &Continuation) -> Result<Option<Agreement>, CudaError> {
        let mut comparing: Vec<Comparing> = (0..self.batch).map(|_| goldens.compare()).collect();
        for (position, token) in goldens.tokens().into_iter().enumerate() {
            self.step(position, &vec![token; self.batch])?;
            for (slot, comparing) in comparing.iter_mut().enumerate() {
                comparing.add(position, &self.executor.row(self.logits, slot)?);
            }
        }
        let all = comparing.into_iter().map(Comparing::finish);
        let off = |agreement: &Agreement| agreement.rms_all.unwrap_or(agreement.rms_top5).value;
        Ok(all.max_by(|a, b| b.pass.cmp(&a.pass).then(off(a).total_cmp(&off(b)))))
    }

    /// Fills the cache of every sequence, so that a step reads as much as after a prompt of any length without running one. Random
    /// keys and values of variance 1 are much like those of random weights; no arithmetic depends on what they are.
    ///
    /// # Errors
    /// The device can't be written.
    pub fn fill_cache(&mut self, generator: &Generator) -> Result<(), CudaError> {
        let states = &self.executor.plan().states;
        let caches: Vec<usize> = (0..states.len()).filter(|i| is_cache(&&states[*i])).collect();
        for state in caches {
            let tensor = Tensor::new(&format!("cache {state}"), 0, (1.0, 0.0));
            self.executor.write_state(state, |device, memory| generator.fill(device, memory, &tensor))?;
        }
        Ok(())
    }

    /// Times `steps` steps from position `context` on, by the host's clock around all of them. Each repetition begins there again.
    ///
    /// # Errors
    /// A step does not come to its end.
    pub fn time(&mut self, context: usize, steps: usize) -> Result<Timing, CudaError> {
        let first: Vec<u32> = (0..self.batch).map(|slot| ((1000 + 7919 * slot) % self.vocab) as u32).collect();
        let warm = self.decode(context, &first, steps)?;
        let mut timing = Timing { steps: Vec::new(), same_tokens: true };
        for _ in 0..REPETITIONS {
            let begin = Instant::now();
            let tokens = self.decode(context, &first, steps)?;
            timing.steps.push(begin.elapsed() / steps as u32);
            timing.same_tokens &= tokens == warm;
        }
        Ok(timing)
    }

    /// Feeds `tokens`, one a sequence, at `position`, and then what is sampled, for `steps` steps of one command; the tokens sampled,
    /// by step.
    fn decode(&mut self, position: usize, tokens: &[u32], steps: usize) -> Result<Vec<Vec<Sampled>>, CudaError> {
        let rows = self.rows(position, tokens);
        self.executor.start(&Command { rows, steps, stops: Vec::new() })?;
        let mut all = Vec::with_capacity(steps);
        while let Some(sampled) = self.executor.receive()? {
            all.push(sampled);
        }
        Ok(all)
    }

    fn step(&mut self, position: usize, tokens: &[u32]) -> Result<(), CudaError> {
        self.executor.step(&self.rows(position, tokens))
    }

    fn rows(&self, position: usize, tokens: &[u32]) -> StepRows {
        let row = |(slot, token): (usize, &u32)| Row { slot, position, token: *token, sample: true };
        StepRows::new(tokens.iter().enumerate().map(row).collect(), self.pages.clone())
    }
}
