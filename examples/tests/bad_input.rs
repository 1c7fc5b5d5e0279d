//! Bad input ends with one clear error and exit code 2, with nothing on stdout and nothing half-written.

// A test: it fails where it can't go on.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

const GENERATE: &str = env!("CARGO_BIN_EXE_generate");
const PLAN: &str = env!("CARGO_BIN_EXE_plan");
const VERIFY: &str = env!("CARGO_BIN_EXE_verify");

/// A copy of the tiny Qwen3 that a test may break.
struct Model(TempDir);

impl Model {
    fn new() -> Model {
        let dir = tempfile::tempdir().unwrap();
        for name in ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"] {
            fs::copy(shipped().join(name), dir.path().join(name)).unwrap();
        }
        Model(dir)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn edit(self, name: &str, change: impl FnOnce(&mut Value)) -> Model {
        let mut value = serde_json::from_slice(&fs::read(self.path(name)).unwrap()).unwrap();
        change(&mut value);
        fs::write(self.path(name), value.to_string()).unwrap();
        self
    }

    fn config(field: &str, value: Value) -> Model {
        Model::new().edit("config.json", |config| config[field] = value)
    }

    /// The header of the weights, and the data behind it.
    fn weights(&self) -> (Value, Vec<u8>) {
        let bytes = fs::read(self.path("model.safetensors")).unwrap();
        let (length, rest) = bytes.split_at(8);
        let (header, data) = rest.split_at(u64::from_le_bytes(length.try_into().unwrap()) as usize);
        (serde_json::from_slice(header).unwrap(), data.to_vec())
    }

    fn write_weights(&self, header: &Value, data: &[u8]) {
        let header = header.to_string();
        let bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat();
        fs::write(self.path("model.safetensors"), bytes).unwrap();
    }

    /// `generate` refuses it, and names these.
    fn refused(&self, words: &[&str]) {
        refused(&self.generate(&["--prompt", "In the"]), words);
    }

    fn generate(&self, args: &[&str]) -> Output {
        let model = self.0.path().to_str().unwrap();
        run(GENERATE, &[&["--model", model, "--max-new-tokens", "2"], args].concat())
    }
}

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tiny-qwen3")
}

fn run(program: &str, args: &[&str]) -> Output {
    Command::new(program).args(args).output().unwrap()
}

/// One error on stderr that has all `words`, exit code 2, nothing on stdout.
#[track_caller]
fn refused(output: &Output, words: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(stderr.starts_with("error: ") && stderr.matches("error:").count() == 1, "{stderr}");
    for word in words {
        assert!(stderr.contains(word), "no `{word}` in: {stderr}");
    }
}

#[test]
fn weights_that_are_missing_or_damaged() {
    let model = Model::new();
    let whole = fs::read(model.path("model.safetensors")).unwrap();
    for (length, word) in [(0, "model.safetensors"), (5, "model.safetensors"), (whole.len() / 2, "model.safetensors")] {
        fs::write(model.path("model.safetensors"), &whole[..length]).unwrap();
        model.refused(&["MPK-L0304", word]);
    }
    fs::remove_file(model.path("model.safetensors")).unwrap();
    model.refused(&["no checkpoint in", model.0.path().to_str().unwrap()]);
    refused(&run(GENERATE, &["--model", "/no/such/folder"]), &["/no/such/folder"]);
}

#[test]
fn a_pointer_of_git_lfs_is_not_the_weights() {
    let model = Model::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 3000000\n";
    fs::write(model.path("model.safetensors"), pointer).unwrap();
    model.refused(&["MPK-L0304", "model.safetensors", "Git LFS pointer", "git lfs pull"]);
}

#[test]
fn a_shard_that_is_missing_or_truncated() {
    let model = Model::new();
    let (header, _) = model.weights();
    let (one, two) = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors");
    let names = header.as_object().unwrap().keys().filter(|name| *name != "__metadata__");
    let shard = |name: &String| if name == "model.norm.weight" { two } else { one };
    let map: Value = names.map(|name| (name.clone(), json!(shard(name)))).collect::<serde_json::Map<_, _>>().into();
    fs::write(model.path("model.safetensors.index.json"), json!({ "weight_map": map }).to_string()).unwrap();
    fs::rename(model.path("model.safetensors"), model.path(one)).unwrap();
    model.refused(&[two]);
    fs::write(model.path(two), [9, 0, 0, 0, 0, 0, 0, 0, b'{']).unwrap();
    model.refused(&["MPK-L0304", two]);
    // Half a download is one problem, however many tensors lie beyond it.
    let whole = fs::read(model.path(one)).unwrap();
    fs::write(model.path(one), &whole[..whole.len() / 2]).unwrap();
    let output = model.generate(&["--prompt", "In the"]);
    refused(&output, &[one, "more tensors end beyond it too: the file is truncated"]);
    assert_eq!(String::from_utf8_lossy(&output.stderr).matches(one).count(), 1);
}

#[test]
fn weights_that_the_config_ties() {
    let (head, table) = ("lm_head.weight", "model.embed_tokens.weight");
    // A config that speaks of a head which is not there.
    Model::config("tie_word_embeddings", json!(false)).refused(&["MPK-L0301", head, "missing", "tie_word_embeddings"]);
    // A head that is the embedding once more, and one that is not.
    let model = Model::new();
    let (mut header, mut data) = model.weights();
    let [from, to] = [0, 1].map(|end| header[table]["data_offsets"][end].as_u64().unwrap() as usize);
    header[head] = header[table].clone();
    header[head]["data_offsets"] = json!([data.len(), data.len() + to - from]);
    data.extend_from_within(from..to);
    model.write_weights(&header, &data);
    let expected = Model::new().generate(&["--prompt", "In the"]).stdout;
    let text = |stdout: &[u8]| String::from_utf8_lossy(stdout).lines().next().map(str::to_owned);
    assert_eq!(text(&model.generate(&["--prompt", "In the"]).stdout), text(&expected));
    *data.last_mut().unwrap() ^= 1;
    model.write_weights(&header, &data);
    model.refused(&["MPK-L0301", head, "is not a copy of", table, "tie_word_embeddings"]);
}

#[test]
fn weights_that_are_not_those_of_the_model() {
    let name = "model.layers.0.self_attn.q_proj.weight";
    let model = Model::new();
    let (mut header, data) = model.weights();
    let shape = header[name]["shape"].as_array_mut().unwrap();
    shape.reverse();
    model.write_weights(&header, &data);
    model.refused(&["MPK-L0301", name, "has shape"]);
    header[name]["shape"].as_array_mut().unwrap().reverse();
    let tensor = header.as_object_mut().unwrap().shift_remove(name).unwrap();
    header["model.layers.0.self_attn.q_proj.wieght"] = tensor;
    model.write_weights(&header, &data);
    model.refused(&["MPK-L0301", name, "the nearest name is"]);
}

#[test]
fn configs_that_contradict_the_weights() {
    let layers = serde_json::from_slice::<Value>(&fs::read(shipped().join("config.json")).unwrap()).unwrap()["num_hidden_layers"]
        .as_u64()
        .unwrap();
    Model::config("num_hidden_layers", json!(layers + 1)).refused(&["MPK-L0301", &format!("model.layers.{layers}.")]);
    Model::config("num_hidden_layers", json!(layers - 1)).refused(&["MPK-L0302", &format!("model.layers.{}.", layers - 1)]);
    Model::config("intermediate_size", json!(640)).refused(&["MPK-L0301", "mlp.gate_proj.weight"]);
    Model::config("vocab_size", json!(5000)).refused(&["MPK-L0301", "embed_tokens"]);
    Model::config("architectures", json!(["LlamaForCausalLM"])).refused(&["MPK-L0302", "q_norm"]);
    Model::config("quantization_config", json!({ "quant_method": "fp8" })).refused(&["config.json", "quantization_config"]);
}

#[test]
fn configs_that_make_no_sense() {
    Model::config("architectures", json!(["OtherForCausalLM"])).refused(&["config.json", "OtherForCausalLM", "known are"]);
    Model::config("architectures", json!(3)).refused(&["config.json", "no architecture is named"]);
    for field in [
        "hidden_size",
        "intermediate_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "head_dim",
        "vocab_size",
        "max_position_embeddings",
    ] {
        for value in [json!(0), json!(-1), json!(u64::MAX), json!(1e40), json!("12"), json!([1])] {
            Model::config(field, value).refused(&["config.json", field]);
        }
    }
    for field in ["num_hidden_layers", "num_attention_heads", "vocab_size"] {
        // Large, but no more than a number may be.
        Model::config(field, json!(i32::MAX - 1)).refused(&[]);
    }
    Model::config("rope_scaling", json!({ "rope_type": "yarn", "factor": 4.0 })).refused(&[
        "config.json",
        "rope_scaling",
        "`yarn`",
        "help: the model runs only with these",
    ]);
    Model::config("use_sliding_window", json!(true)).refused(&["use_sliding_window", "help: use another checkpoint"]);
    for factor in [json!(0), json!(-1.5), json!(1e60)] {
        let scaling = json!({ "rope_type": "linear", "factor": factor });
        Model::config("rope_scaling", scaling).refused(&["config.json", "rope_scaling.factor"]);
    }
    let bands = json!({ "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 1.0,
        "original_max_position_embeddings": 8192 });
    Model::config("rope_scaling", bands).refused(&["config.json", "rope_scaling.low_freq_factor"]);
    Model::config("rope_theta", json!(1e-60)).refused(&["config.json", "rope_theta"]);
    Model::config("rms_norm_eps", json!(-1.0)).refused(&["config.json", "rms_norm_eps"]);
    let model = Model::new().edit("generation_config.json", |config| config["eos_token_id"] = json!(-1));
    model.refused(&["generation_config.json", "eos_token_id"]);
    for text in ["", "{", "[]", "\u{0}"] {
        fs::write(model.path("config.json"), text).unwrap();
        model.refused(&["config.json"]);
    }
    fs::remove_file(model.path("config.json")).unwrap();
    model.refused(&["config.json"]);
}

#[test]
fn without_a_tokenizer_only_ids_are_taken() {
    let model = Model::new();
    fs::write(model.path("tokenizer.json"), "{}").unwrap();
    model.refused(&["tokenizer.json"]);
    fs::remove_file(model.path("tokenizer.json")).unwrap();
    model.refused(&["tokenizer.json", "token ids"]);
    refused(&model.generate(&["--chat", "Hello"]), &["tokenizer.json"]);
    let output = model.generate(&["--prompt-ids", "40,77,258"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("2075 388 ") && text.contains("2 tokens, "), "{text}");

    let model = Model::new().edit("tokenizer_config.json", |config| {
        config.as_object_mut().unwrap().remove("chat_template");
    });
    refused(&model.generate(&["--chat", "Hello"]), &["no chat template"]);
}

#[test]
fn requests_that_make_no_sense() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["--prompt", ""], &["no tokens"]),
        (&["--prompt-ids", ""], &["--prompt-ids"]),
        (&["--prompt-ids", "1,x"], &["--prompt-ids", "`x` is no token id", "commas"]),
        (&["--prompt-ids", "-1"], &["-1"]),
        (&["--prompt-ids", "1,4000000000"], &["4000000000", "vocabulary"]),
        (&["--prompt-ids", "1,5000000000"], &["5000000000"]),
        (&["--prompt-ids", "1", "--prompt", "a"], &["--prompt-ids", "--prompt"]),
        (&["--prompt-ids", "1,2,3", "--max-context", "3"], &["3 tokens", "context of 3 positions", "--max-context"]),
        (&["--prompt-ids", "1", "--max-context", "1"], &["has 1 token,", "context of 1 position "]),
        (&["--max-context", "0"], &["context of 0"]),
        (&["--max-context", "1000000000000"], &["1000000000000"]),
        (&["--max-new-tokens", "0"], &["0 new tokens"]),
        (&["--max-new-tokens", "-3"], &["-3"]),
        (&["--temperature", "0.7"], &["--temperature"]),
        (&["--top-p", "0.9"], &["--top-p"]),
        (&["--ranks", "0"], &["0 ranks"]),
        (&["--ranks", "3"], &["linear_v3", "3 ranks"]),
        (&["--ranks", "4"], &["paged_attention", "no whole number on 4 ranks", "rank count"]),
        (&["--ranks", "18446744073709551615"], &["linear_v3", "ranks"]),
        (&["--threads", "0"], &["0 threads"]),
        (&["--backend", "tpu"], &["tpu"]),
    ];
    for (args, words) in cases {
        refused(&run(GENERATE, args), words);
    }
}

#[test]
fn plans_that_can_not_be_made() {
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
    let qwen = configs.join("Qwen3-8B.json");
    let qwen = qwen.to_str().unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&["--ranks", "3"], &["linear_v3", "3 ranks"]),
        // 8 key/value heads: 16 ranks would have half of one each.
        (&["--ranks", "16"], &["paged_attention", "no whole number on 16 ranks", "rank count"]),
        (&["--ranks", "0"], &["0 ranks"]),
        (&["--workers", "0"], &["workers"]),
        (&["--workers", "100000"], &["workers"]),
        (&["--slots", "0"], &["slots"]),
        (&["--slots", "17"], &["slots"]),
        (&["--layers", "36..37"], &["36..37", "0..36"]),
        (&["--layers", "3..3"], &["`3..3` is empty: write `3..4`"]),
        (&["--layers", "all"], &["all"]),
        (&["--context", "0"], &["context"]),
        (&["--svg", "/no/such/folder/plan.svg"], &["/no/such/folder/plan.svg"]),
        (&["--source", "/no/such/folder/plan.cu"], &["/no/such/folder/plan.cu"]),
        (&["--json", "--svg", "plan.svg"], &["--json"]),
    ];
    for (args, words) in cases {
        refused(&run(PLAN, &[&["--config", qwen], *args].concat()), words);
    }
    refused(&run(PLAN, &["--config", "/no/such/config.json"]), &["/no/such/config.json"]);
    let moe = Model::config("architectures", json!(["Qwen3MoeForCausalLM"]));
    refused(&run(PLAN, &["--config", moe.0.path().to_str().unwrap()]), &["Qwen3MoeForCausalLM", "known are"]);

    // A folder stands where the picture should go: nothing is left beside it.
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("plan.svg")).unwrap();
    let svg = dir.path().join("plan.svg");
    refused(&run(PLAN, &["--config", qwen, "--svg", svg.to_str().unwrap()]), &["plan.svg"]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn goldens_that_can_not_be_read() {
    refused(&run(VERIFY, &["--goldens", "/no/such/goldens.json"]), &["/no/such/goldens.json"]);
    let model = Model::new();
    fs::write(model.path("goldens.json"), "[]").unwrap();
    refused(&run(VERIFY, &["--goldens", model.path("goldens.json").to_str().unwrap()]), &["goldens.json"]);
}

#[test]
fn goldens_without_the_logits_that_they_name() {
    let model = Model::new();
    fs::copy(shipped().join("goldens.json"), model.path("goldens.json")).unwrap();
    let args = ["--model", model.0.path().to_str().unwrap(), "--backend", "host"];
    // No file: nothing to compare with, and that is said.
    let output = run(VERIFY, &args);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("rms prompt         not compared"), "{text}");
    // A file of other tensors, and of other shapes.
    fs::copy(model.path("model.safetensors"), model.path("logits.safetensors")).unwrap();
    refused(&run(VERIFY, &args), &["logits.safetensors", "is not there"]);
    let header = json!({ "beginning": { "dtype": "F32", "shape": [2], "data_offsets": [0, 8] } }).to_string();
    let bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[0; 8]].concat();
    fs::write(model.path("logits.safetensors"), bytes).unwrap();
    refused(&run(VERIFY, &args), &["logits.safetensors", "`beginning` has 2 logits, the model 2304"]);
}

#[test]
fn checks_of_tasks_have_threads_of_their_own() {
    refused(&run(VERIFY, &["--tasks", "--threads", "2"]), &["--tasks", "--threads"]);
}

#[test]
fn goldens_of_other_weights() {
    let shipped = shipped();
    let (model, other) = (shipped.with_file_name("tiny-llama"), shipped.join("goldens.json"));
    let output = run(VERIFY, &["--backend", "host", "--model", model.to_str().unwrap(), "--goldens", other.to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    let goldens: Value = serde_json::from_slice(&fs::read(other).unwrap()).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    for word in ["tiny-qwen3: FAIL", "sha256sum", goldens["safetensors_sha256"].as_str().unwrap(), "equal for 0 of 64"] {
        assert!(text.contains(word), "no `{word}` in {text}");
    }
}
