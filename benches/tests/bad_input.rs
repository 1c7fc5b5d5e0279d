//! Bad input to `bench` ends with one clear error and exit code 2, with or without a GPU.

// A test: it fails where it can't go on.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

const QWEN3: &str = "Qwen3-0.6B.json";

fn config(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/configs").join(name)
}

/// One error on stderr that has all `words`, exit code 2, nothing on stdout.
#[track_caller]
fn refused(config: &Path, args: &[&str], words: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_bench")).arg("--config").arg(config).args(args).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(stderr.starts_with("error: ") && stderr.matches("error:").count() == 1, "{stderr}");
    for word in words {
        assert!(stderr.contains(word), "no `{word}` in: {stderr}");
    }
}

#[test]
fn configs_and_options_that_make_no_sense() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["--layers", "28..29"], &["28..29", "0..28"]),
        (&["--layers", "3..3"], &["3..3"]),
        (&["--layers", "all"], &["all"]),
        (&["--batch", "0"], &["--batch", "1..=16"]),
        (&["--batch", "17"], &["--batch", "1..=16"]),
        (&["--steps", "0"], &["--steps"]),
        (&["--context", "-1"], &["-1"]),
        (&["--context", "4294967295", "--batch", "16"], &["4294967"]),
        (&["--check", "/no/such/goldens.json"], &["/no/such/goldens.json"]),
    ];
    for (args, words) in cases {
        refused(&config(QWEN3), args, words);
    }
    refused(Path::new("/no/such/config.json"), &[], &["/no/such/config.json"]);

    let dir = tempfile::tempdir().unwrap();
    let changed = |field: &str, value: Value| {
        let mut config: Value = serde_json::from_slice(&fs::read(config(QWEN3)).unwrap()).unwrap();
        config[field] = value;
        let path = dir.path().join("config.json");
        fs::write(&path, config.to_string()).unwrap();
        path
    };
    refused(&changed("architectures", json!(["OtherForCausalLM"])), &[], &["config.json", "OtherForCausalLM"]);
    refused(&changed("hidden_size", json!(0)), &[], &["config.json", "hidden_size"]);
    refused(&changed("max_position_embeddings", json!(0)), &[], &["config.json", "max_position_embeddings"]);
}

/// References of a model; the numbers are none that anything would give.
fn goldens(dir: &TempDir, config: &str, layers: usize, id: u32) -> String {
    let path = dir.path().join("goldens.json");
    let goldens = json!({
        "config": config, "layers": layers, "seed": 0, "prompt_ids": [id], "output_ids": [1],
        "top5_ids": [[1, 2]], "top5_logits": [[2.0, 1.0]], "bf16_error": { "rms": 0.1, "greedy_disagreements": [] }
    });
    fs::write(&path, goldens.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn references_of_another_model() {
    let dir = tempfile::tempdir().unwrap();
    for (name, layers, id, words) in [
        ("Llama-3.2-1B.json", 28, 1, ["Llama-3.2-1B.json", QWEN3]),
        (QWEN3, 16, 1, ["0..28", "`--layers 0..16`"]),
        (QWEN3, 28, 151_936, ["151936 ids", QWEN3]),
    ] {
        refused(&config(QWEN3), &["--check", &goldens(&dir, name, layers, id)], &words);
    }
    let file = goldens(&dir, QWEN3, 28, 1);
    refused(&config(QWEN3), &["--check", &file, "--layers", "0..4"], &["0..4", "`--layers 0..28`"]);
    fs::write(&file, "[]").unwrap();
    refused(&config(QWEN3), &["--check", &file], &["goldens.json"]);
}
