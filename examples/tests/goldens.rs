//! Every shipped model against transformers' float32 logits: fused, as a chain, and sharded over ranks.

use std::error::Error;
use std::path::{Path, PathBuf};

use models::FAMILIES;
use mpk_runtime::engine::{Backend, Engine, Options};
use mpk_runtime::goldens::Goldens;

fn examples() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Compares the model in `dir` with the goldens in `goldens`, in all the ways that must give the same text.
fn compare(dir: &Path, goldens: &Path, ranks: usize) -> Result<(), Box<dyn Error>> {
    let reference = Goldens::open(&goldens.join("goldens.json"))?;
    let host = Options { backend: Backend::Host, ..Options::new(FAMILIES) };
    let ways = [("fused", host), ("chain", Options { chain: true, ..host }), ("ranks", Options { ranks, ..host })];
    for (way, options) in ways {
        let mut engine = Engine::load(dir, options)?;
        let comparison = reference.compare(&mut engine, Some(&goldens.join("logits.safetensors")))?;
        assert!(comparison.pass, "{} {way}: {comparison:#?}", reference.model);
    }
    Ok(())
}

#[test]
fn tiny_qwen3() -> Result<(), Box<dyn Error>> {
    let dir = examples().join("tiny-qwen3");
    compare(&dir, &dir, 2)
}

#[test]
fn tiny_llama() -> Result<(), Box<dyn Error>> {
    let dir = examples().join("tiny-llama");
    compare(&dir, &dir, 2)
}

/// Random weights: what it has beyond the others is a bias of queries, keys and values, and heads of 16.
#[test]
fn tiny_qwen2() -> Result<(), Box<dyn Error>> {
    let dir = examples().join("tiny-qwen2");
    compare(&dir, &dir, 2)
}

#[test]
fn smollm2() -> Result<(), Box<dyn Error>> {
    let Some(dir) = smollm2_dir() else {
        eprintln!("skipped: SmolLM2 is not here; `sh examples/smollm2/fetch.sh .smollm2 --convert` fetches it");
        return Ok(());
    };
    compare(&dir, &examples().join("smollm2"), 3)
}

fn smollm2_dir() -> Option<PathBuf> {
    let dir = examples().parent()?.join(".smollm2/hf");
    dir.join("model.safetensors").is_file().then_some(dir)
}

#[test]
fn the_bits_do_not_depend_on_threads() {
    let dir = examples().join("tiny-qwen3");
    // Over 512 positions every split of the attention has some.
    let prompt: Vec<u32> = (0..530).map(|n| n * 37 % 2290).collect();
    let logits = |threads| {
        let options = Options { backend: Backend::Host, threads: Some(threads), ..Options::new(FAMILIES) };
        Engine::load(&dir, options).unwrap().logits(&prompt, &[388, 2208, 282, 258]).unwrap()
    };
    let one = logits(1);
    for threads in [2, 3, 8, 20] {
        assert_eq!(one, logits(threads), "{threads} threads");
    }
}
