//! One prompt and its greedy continuation on random weights: what `make_checkpoint.py --goldens` writes.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Bounded, EXTRA_STEPS, GoldensError, Judged, Mean, TOP5_FACTOR, Top, read, wrong};
use crate::engine::Error;
use crate::load::Checkpoint;

/// The tensor of whole logits.
const LOGITS: &str = "logits";

/// Reference outputs of one model: float32 arithmetic on its bf16 weights.
#[derive(Debug, Deserialize)]
pub struct Continuation {
    /// File name of the config.
    pub config: String,
    /// The first layers of the model, as many as were run.
    pub layers: usize,
    /// Seed of the weights.
    pub seed: u32,
    prompt_ids: Vec<u32>,
    output_ids: Vec<u32>,
    #[serde(flatten)]
    top: Top,
    bf16_error: Bf16Error,
    /// `[positions, vocab]`, if the file beside it has them.
    #[serde(skip)]
    logits: Option<Logits>,
}

/// transformers' own bf16 run on the same weights.
#[derive(Debug, Deserialize)]
struct Bf16Error {
    /// Root mean square over all logits of all positions.
    rms: f64,
    /// Steps with another best token.
    greedy_disagreements: Vec<usize>,
}

#[derive(Debug)]
struct Logits {
    vocab: usize,
    values: Vec<f32>,
}

/// How a model agrees with a [`Continuation`].
#[derive(Clone, Debug, Serialize)]
pub struct Agreement {
    /// Whether the bounds hold: that of all logits if they are there, else that of the five best.
    pub pass: bool,
    /// Steps compared.
    pub steps: usize,
    /// Steps whose best token differs from the reference's.
    pub differing: Bounded,
    /// Steps that differ by more than bf16 arithmetic explains: each is a failure.
    pub wrong: Vec<usize>,
    /// RMS error of the reference's five best logits, over all steps.
    pub rms_top5: Bounded,
    /// RMS error of all logits of all positions, if the reference has them.
    pub rms_all: Option<Bounded>,
}

impl Continuation {
    /// Reads a file of references, and the logits of all positions from the `.safetensors` of the same name if that is there.
    ///
    /// # Errors
    /// A file can't be read, or a field is missing or of another length than it must be.
    pub fn open(path: &Path) -> Result<Continuation, GoldensError> {
        let mut goldens: Continuation = read(path)?;
        goldens.top.check(goldens.output_ids.len()).map_err(|what| wrong(path, what))?;
        if goldens.prompt_ids.is_empty() {
            return Err(wrong(path, "`prompt_ids` is empty".to_owned()));
        }
        let beside = path.with_extension("safetensors");
        if beside.is_file() {
            goldens.logits = Some(Logits::open(&beside, goldens.tokens().len())?);
        }
        Ok(goldens)
    }

    /// The tokens to feed, by position: the prompt, then the output but for its last token.
    pub fn tokens(&self) -> Vec<u32> {
        let fed = &self.output_ids[..self.output_ids.len() - 1];
        [&self.prompt_ids, fed].concat()
    }

    /// Whether these can be of a model of `vocab` token ids: all ids are below it, and there are as many logits where all are given.
    pub fn has_vocab(&self, vocab: usize) -> bool {
        let ids = [&self.prompt_ids, &self.output_ids].into_iter().chain(&self.top.top5_ids).flatten();
        self.logits.as_ref().is_none_or(|logits| logits.vocab == vocab) && ids.into_iter().all(|id| (*id as usize) < vocab)
    }

    /// Begins a comparison with one run.
    pub fn compare(&self) -> Comparing<'_> {
        Comparing { goldens: self, judged: Judged::default(), all: Mean::default() }
    }
}

impl Logits {
    fn open(path: &Path, positions: usize) -> Result<Logits, GoldensError> {
        let file = Checkpoint::open_file(path).map_err(Error::from)?;
        let tensor = file.find(LOGITS).map(|id| file.tensor(id));
        let tensor = tensor.ok_or_else(|| wrong(path, format!("there is no tensor `{LOGITS}`")))?;
        let [rows, vocab] = tensor.shape()[..] else {
            return Err(wrong(path, format!("`{LOGITS}` has the shape {:?}, not [positions, vocabulary]", tensor.shape())));
        };
        if rows != positions {
            return Err(wrong(path, format!("`{LOGITS}` has {rows} positions, prompt and output have {positions}")));
        }
        Ok(Logits { vocab, values: tensor.f32().map_err(Error::from)?.into_owned() })
    }

    fn row(&self, position: usize) -> &[f32] {
        &self.values[position * self.vocab..(position + 1) * self.vocab]
    }
}

/// A comparison of one run, to which logits are given position by position.
#[derive(Debug)]
pub struct Comparing<'a> {
    goldens: &'a Continuation,
    judged: Judged,
    all: Mean,
}

impl Comparing<'_> {
    /// Adds the logits after the token of `position`, the index in [`Continuation::tokens`].
    pub fn add(&mut self, position: usize, logits: &[f32]) {
        let goldens = self.goldens;
        if let Some(reference) = &goldens.logits {
            for (ours, want) in logits.iter().zip(reference.row(position)) {
                self.all.add(f64::from(*ours) - f64::from(*want), 1);
            }
        }
        // The last position of the prompt gives the first token of the output.
        if let Some(step) = (position + 1).checked_sub(goldens.prompt_ids.len()) {
            self.judged.add(&goldens.top, step, logits, goldens.bf16_error.rms);
        }
    }

    /// Whether the bounds hold over all that was added.
    pub fn finish(self) -> Agreement {
        let Judged { differing, wrong, errors } = self.judged;
        let error = &self.goldens.bf16_error;
        let most = TOP5_FACTOR * error.rms;
        let differing = Bounded { value: differing.len() as f64, most: (error.greedy_disagreements.len() + EXTRA_STEPS) as f64 };
        let rms_top5 = Bounded { value: errors.root(), most };
        let rms_all = self.goldens.logits.is_some().then(|| Bounded { value: self.all.root(), most });
        let pass = wrong.is_empty() && differing.holds() && rms_all.unwrap_or(rms_top5).holds();
        Agreement { pass, steps: self.goldens.output_ids.len(), differing, wrong, rms_top5, rms_all }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use safetensors::{Dtype, tensor::TensorView};
    use serde_json::{Value, json};

    use super::*;

    const VOCAB: usize = 4;

    /// Two tokens of prompt and two of output; all logits where `logits` says so.
    fn write(dir: &Path, change: impl FnOnce(&mut Value), logits: Option<[usize; 2]>) -> PathBuf {
        let mut goldens = json!({
            "config": "Some.json", "layers": 2, "seed": 0, "prompt_ids": [3, 1], "output_ids": [2, 0],
            "top5_ids": [[2, 1], [0, 3]], "top5_logits": [[2.0, 1.9], [4.0, 1.0]],
            "bf16_error": { "rms": 0.1, "greedy_disagreements": [1], "steps": 2 }
        });
        change(&mut goldens);
        let path = dir.join("Some.json");
        std::fs::write(&path, goldens.to_string()).unwrap();
        if let Some(shape) = logits {
            let bytes = vec![0; shape[0] * shape[1] * 4];
            let view = TensorView::new(Dtype::F32, shape.to_vec(), &bytes).unwrap();
            safetensors::serialize_to_file([("logits", view)], None, &dir.join("Some.safetensors")).unwrap();
        }
        path
    }

    /// What `logits` by position compare as.
    fn agreement(goldens: &Continuation, logits: [[f32; VOCAB]; 3]) -> Agreement {
        let mut comparing = goldens.compare();
        logits.iter().enumerate().for_each(|(position, logits)| comparing.add(position, logits));
        comparing.finish()
    }

    #[test]
    fn five_best_logits_are_compared_at_the_steps() {
        let dir = tempfile::tempdir().unwrap();
        let goldens = Continuation::open(&write(dir.path(), |_| (), None)).unwrap();
        assert_eq!(goldens.tokens(), [3, 1, 2]);
        assert!(goldens.has_vocab(VOCAB) && !goldens.has_vocab(VOCAB - 1));
        // What the first position gives is no step: it may be anything.
        let right = agreement(&goldens, [[9.0; 4], [0.0, 1.9, 2.0, 0.0], [4.0, 0.0, 0.0, 1.1]]);
        assert!(right.pass && right.differing.value == 0.0 && right.rms_all.is_none(), "{right:?}");
        assert!((right.rms_top5.value - 0.05).abs() < 1e-6 && (right.rms_top5.most - 0.11).abs() < 1e-9, "{right:?}");
        // A tie of bf16 arithmetic.
        let tie = agreement(&goldens, [[0.0; 4], [0.0, 2.0, 1.95, 0.0], [4.0, 0.0, 0.0, 1.0]]);
        assert!(tie.pass && tie.differing.value == 1.0 && tie.wrong.is_empty(), "{tie:?}");
        let wrong = agreement(&goldens, [[0.0; 4], [0.0, 1.9, 2.0, 0.0], [4.0, 4.1, 0.0, 1.0]]);
        assert!(!wrong.pass && wrong.wrong == [1], "{wrong:?}");
        let far = agreement(&goldens, [[0.0; 4], [0.0, 1.7, 2.0, 0.0], [4.0, 0.0, 0.0, 0.8]]);
        assert!(!far.pass && far.wrong.is_empty(), "{far:?}");
        assert!(!agreement(&goldens, [[f32::NAN; 4]; 3]).pass);
    }

    #[test]
    fn all_logits_are_compared_where_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let goldens = Continuation::open(&write(dir.path(), |_| (), Some([3, VOCAB]))).unwrap();
        assert!(goldens.has_vocab(VOCAB) && !goldens.has_vocab(VOCAB + 1));
        let agreement = agreement(&goldens, [[3.0; 4], [0.0, 1.9, 2.0, 0.0], [4.0, 0.0, 0.0, 1.0]]);
        let squares = 9.0 * 4.0 + 1.9 * 1.9 + 4.0 + 16.0 + 1.0f64;
        let all = agreement.rms_all.unwrap();
        assert!((all.value - (squares / 12.0).sqrt()).abs() < 1e-6 && !agreement.pass, "{agreement:?}");
    }

    #[test]
    fn files_that_are_no_references_are_refused() {
        let refused = |change: fn(&mut Value), logits, words: &[&str]| {
            let dir = tempfile::tempdir().unwrap();
            let error = Continuation::open(&write(dir.path(), change, logits)).unwrap_err().to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        };
        refused(|g| g["output_ids"] = json!([2]), None, &["Some.json", "disagree"]);
        refused(|g| g["output_ids"] = json!([]), None, &["Some.json", "disagree"]);
        refused(|g| g["prompt_ids"] = json!([]), None, &["Some.json", "prompt_ids"]);
        refused(|g| *g = json!([]), None, &["Some.json"]);
        refused(|g| g["seed"] = json!(-1), None, &["Some.json", "u32", "column"]);
        refused(|_| (), Some([2, VOCAB]), &["Some.safetensors", "2 positions"]);
        assert!(Continuation::open(Path::new("/no/such.json")).is_err());
    }
}
