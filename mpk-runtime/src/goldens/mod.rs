//! Comparison of a model with reference outputs: float32 logits of transformers, and what its own bf16 run makes of them.
//!
//! A token may differ from the reference only where bf16 arithmetic can't tell the two best ones apart, and the errors of the
//! logits are held against those of transformers' bf16 run.

mod continuation;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use continuation::{Agreement, Comparing, Continuation};

use crate::engine::{End, Engine, Error, Params};

/// Logit errors pooled over a model must be below this multiple of transformers' bf16 run, for the five best of every step.
const TOP5_FACTOR: f64 = 1.1;
/// The same for all logits at the last prompt positions: single positions vary more.
const PROMPT_FACTOR: f64 = 1.25;
/// A token may differ where the reference's logits of the two are closer than this multiple of the case's bf16 error.
const TIE_FACTOR: f64 = 6.0;
/// More steps may differ than in transformers' bf16 run by this.
const EXTRA_STEPS: usize = 2;

/// The file can't be used.
#[derive(thiserror::Error)]
pub enum GoldensError {
    /// It can't be read.
    #[error("cannot read {}: {source}\nhelp: check the path and its permissions", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not in the format of goldens.
    #[error("{}: {message}\nhelp: take the goldens and the logits of one run, and those of this model", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        message: String,
    },
    /// The model does not run.
    #[error(transparent)]
    Engine(#[from] Error),
}

/// What `fn main() -> Result<(), GoldensError>` prints: the text for people.
impl fmt::Debug for GoldensError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reference outputs of one model.
#[derive(Debug, Deserialize)]
pub struct Goldens {
    /// The model's name.
    pub model: String,
    /// The SHA-256 of the file of its weights, if the goldens name it.
    pub safetensors_sha256: Option<String>,
    bf16_error: Bf16<Pooled>,
    cases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
struct Bf16<T> {
    cpu: T,
}

#[derive(Debug, Deserialize)]
struct Pooled {
    rms_prompt: f64,
    rms_top5: f64,
    greedy_disagreements: usize,
}

#[derive(Debug, Deserialize)]
struct CaseError {
    rms: f64,
}

#[derive(Debug, Deserialize)]
struct Case {
    id: String,
    kind: String,
    prompt_ids: Vec<u32>,
    output_ids: Vec<u32>,
    #[serde(flatten)]
    top: Top,
    logits_tensor: Option<String>,
    bf16_error: Bf16<CaseError>,
}

/// How a model compares.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Whether all bounds hold.
    pub pass: bool,
    /// By case.
    pub cases: Vec<CaseResult>,
    /// Steps compared.
    pub steps: usize,
    /// Steps whose best token differs from the reference's.
    pub differing: Bounded,
    /// RMS error of the five best logits, over all steps.
    pub rms_top5: Bounded,
    /// RMS error of all logits at the last prompt positions; none if there is no file of them.
    pub rms_prompt: Option<Bounded>,
}

/// A figure and its bound.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bounded {
    /// The figure.
    pub value: f64,
    /// It may be this at most.
    pub most: f64,
}

impl Bounded {
    fn holds(self) -> bool {
        // NaN holds no bound.
        self.value <= self.most
    }
}

/// How one case compares.
#[derive(Clone, Debug, Serialize)]
pub struct CaseResult {
    /// Its name in the file.
    pub id: String,
    /// Steps that differ.
    pub differing: Vec<usize>,
    /// Steps that differ by more than bf16 arithmetic explains: each is a failure.
    pub wrong: Vec<usize>,
    /// Whether free running gives the reference's tokens up to the first step that differs.
    pub free_running: bool,
    /// Tokens of the reference.
    pub tokens: usize,
    /// Those of them that free running gives too, from the first on.
    pub free_tokens: usize,
    /// RMS error of the five best logits.
    pub rms_top5: f64,
    /// RMS error of all logits at the last prompt position, if the file has them.
    pub rms_prompt: Option<f64>,
}

impl Goldens {
    /// Reads a goldens file.
    ///
    /// # Errors
    /// The file can't be read, or a field is missing or of another length than it must be.
    pub fn open(path: &Path) -> Result<Goldens, GoldensError> {
        let goldens: Goldens = read(path)?;
        for case in &goldens.cases {
            case.top.check(case.output_ids.len()).map_err(|what| wrong(path, format!("case `{}`: {what}", case.id)))?;
        }
        Ok(goldens)
    }

    /// Compares `engine` with the references; `logits` is the safetensors file with all logits of the last prompt positions.
    ///
    /// # Errors
    /// See [`GoldensError`]; that the model differs is no error but a [`Comparison`].
    pub fn compare(&self, engine: &mut Engine, logits: Option<&Path>) -> Result<Comparison, GoldensError> {
        let checkpoint = logits.map(crate::load::Checkpoint::open_file).transpose().map_err(Error::from)?;
        let mut cases = Vec::new();
        let (mut top5, mut prompt, mut steps) = (Mean::default(), Mean::default(), 0);
        for case in &self.cases {
            let forced = &case.output_ids[..case.output_ids.len() - 1];
            let ours = engine.logits(&case.prompt_ids, forced)?;
            steps += ours.len();
            let mut result = case.judge(&ours);
            top5.add(result.rms_top5, ours.len());

            let reference = case.logits_tensor.as_ref().zip(checkpoint.as_ref());
            if let Some((name, checkpoint)) = reference {
                let format =
                    |what: String| GoldensError::Format { path: checkpoint.dir().into(), message: format!("`{name}` {what}") };
                let tensor = checkpoint.find(name).ok_or_else(|| format("is not there".into()))?;
                let reference = checkpoint.tensor(tensor).f32().map_err(Error::from)?;
                if reference.len() != ours[0].len() {
                    return Err(format(format_args!("has {} logits, the model {}", reference.len(), ours[0].len()).to_string()));
                }
                let rms = rms(ours[0].iter().zip(reference.iter()).map(|(a, b)| f64::from(*a) - f64::from(*b)));
                prompt.add(rms, 1);
                result.rms_prompt = Some(rms);
            }

            let end = if case.kind == "chat" { End::Stop } else { End::Ignore };
            let params = Params { max_new_tokens: case.output_ids.len(), end };
            let free: Result<Vec<_>, _> = engine.generate(&case.prompt_ids, params)?.collect();
            let free: Vec<u32> = free?.into_iter().map(|t| t.id).collect();
            let same = result.differing.first().copied().unwrap_or(case.output_ids.len());
            result.free_running = free.get(..same) == case.output_ids.get(..same);
            result.free_tokens = free.iter().zip(&case.output_ids).take_while(|(ours, theirs)| ours == theirs).count();
            cases.push(result);
        }
        let error = &self.bf16_error.cpu;
        let differing = cases.iter().map(|c| c.differing.len()).sum::<usize>();
        let differing = Bounded { value: differing as f64, most: (error.greedy_disagreements + EXTRA_STEPS) as f64 };
        let rms_top5 = Bounded { value: top5.root(), most: TOP5_FACTOR * error.rms_top5 };
        let compared = prompt.count > 0;
        let rms_prompt = compared.then(|| Bounded { value: prompt.root(), most: PROMPT_FACTOR * error.rms_prompt });
        let pass = cases.iter().all(|c| c.wrong.is_empty() && c.free_running)
            && [differing, rms_top5].into_iter().chain(rms_prompt).all(Bounded::holds);
        Ok(Comparison { pass, cases, steps, differing, rms_top5, rms_prompt })
    }
}

impl Case {
    /// The steps of a teacher-forced run against the reference.
    fn judge(&self, ours: &[Vec<f32>]) -> CaseResult {
        let mut judged = Judged::default();
        for (step, logits) in ours.iter().enumerate() {
            judged.add(&self.top, step, logits, self.bf16_error.cpu.rms);
        }
        CaseResult {
            id: self.id.clone(),
            differing: judged.differing,
            wrong: judged.wrong,
            free_running: false,
            tokens: self.output_ids.len(),
            free_tokens: 0,
            rms_top5: judged.errors.root(),
            rms_prompt: None,
        }
    }
}

/// The five best ids and logits of the reference, by step.
#[derive(Debug, Deserialize)]
struct Top {
    top5_ids: Vec<Vec<u32>>,
    top5_logits: Vec<Vec<f64>>,
}

impl Top {
    /// Whether there are `steps` steps, and at least one.
    fn check(&self, steps: usize) -> Result<(), String> {
        let (ids, logits) = (&self.top5_ids, &self.top5_logits);
        let even = ids.iter().zip(logits).all(|(i, l)| !i.is_empty() && i.len() == l.len());
        if steps > 0 && ids.len() == steps && logits.len() == steps && even {
            return Ok(());
        }
        Err("`top5_ids`, `top5_logits` and `output_ids` disagree".to_owned())
    }
}

/// Steps of a teacher-forced run, held against the reference's five best logits.
#[derive(Debug, Default)]
struct Judged {
    differing: Vec<usize>,
    wrong: Vec<usize>,
    errors: Mean,
}

impl Judged {
    /// Adds the logits of a step; `bf16_rms` is the error of transformers' bf16 run.
    fn add(&mut self, top: &Top, step: usize, logits: &[f32], bf16_rms: f64) {
        let (ids, reference) = (&top.top5_ids[step], &top.top5_logits[step]);
        for (id, want) in ids.iter().zip(reference) {
            self.errors.add(f64::from(logit(logits, *id)) - want, 1);
        }
        let best = argmax(logits);
        if best == ids[0] {
            return;
        }
        self.differing.push(step);
        let margin = ids.iter().position(|id| *id == best).map(|at| reference[0] - reference[at]);
        if margin.is_none_or(|margin| margin > TIE_FACTOR * bf16_rms) {
            self.wrong.push(step);
        }
    }
}

/// The JSON file `path`.
fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, GoldensError> {
    let text = std::fs::read_to_string(path).map_err(|source| GoldensError::Read { path: path.into(), source })?;
    serde_json::from_str(&text).map_err(|error| wrong(path, error.to_string()))
}

fn wrong(path: &Path, message: String) -> GoldensError {
    GoldensError::Format { path: path.into(), message }
}

fn logit(logits: &[f32], id: u32) -> f32 {
    logits.get(id as usize).copied().unwrap_or(f32::NAN)
}

/// The index of the largest logit, the lowest on ties.
fn argmax(logits: &[f32]) -> u32 {
    let mut best = 0;
    for (i, v) in logits.iter().enumerate() {
        if *v > logits[best] {
            best = i;
        }
    }
    best as u32
}

fn rms(errors: impl Iterator<Item = f64>) -> f64 {
    let mut mean = Mean::default();
    errors.for_each(|e| mean.add(e, 1));
    mean.root()
}

/// A root mean square over parts of known size.
#[derive(Debug, Default)]
struct Mean {
    squares: f64,
    count: usize,
}

impl Mean {
    fn add(&mut self, rms: f64, count: usize) {
        self.squares += rms * rms * count as f64;
        self.count += count;
    }

    fn root(&self) -> f64 {
        (self.squares / self.count as f64).sqrt()
    }
}
