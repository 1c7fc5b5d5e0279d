//! Checkpoints of one file and of shards, compared with what the safetensors library reads.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use safetensors::SafeTensors;

use super::{fixture, message};
use crate::load::{Checkpoint, Dtype, LoadError};

fn assert_equals_reference(checkpoint: &Checkpoint, bytes: &[u8]) {
    let reference = SafeTensors::deserialize(bytes).unwrap();
    assert_eq!(checkpoint.ids().count(), reference.len());
    for (name, theirs) in reference.tensors() {
        let ours = checkpoint.tensor(checkpoint.find(&name).unwrap());
        assert_eq!(ours.name(), name);
        assert_eq!((ours.shape(), ours.dtype()), (theirs.shape(), theirs.dtype()));
        assert!(ours.bytes() == theirs.data(), "{name}");
    }
}

#[test]
fn fixtures_equal_the_reference() {
    for (name, tensors) in [("tiny-qwen3", 68), ("tiny-llama", 39)] {
        let dir = fixture(name);
        let checkpoint = Checkpoint::open(&dir).unwrap();
        assert_eq!(checkpoint.ids().count(), tensors, "{name}");
        assert_equals_reference(&checkpoint, &fs::read(dir.join("model.safetensors")).unwrap());
        assert!(checkpoint.find("no.such.tensor").is_none());
    }
}

#[test]
fn a_file_of_another_name_opens() {
    let path = fixture("tiny-qwen3").join("logits.safetensors");
    let logits = Checkpoint::open_file(&path).unwrap();
    let tensor = logits.tensor(logits.find("beginning").unwrap());
    assert_eq!((tensor.dtype(), tensor.shape()), (Dtype::F32, [2304].as_slice()));
    assert_eq!(tensor.f32().unwrap().len(), 2304);
}

/// Splits the tensors of a fixture over two shards in `dir`. Returns each tensor's shard.
fn split(dir: &Path, bytes: &[u8]) -> HashMap<String, String> {
    let reference = SafeTensors::deserialize(bytes).unwrap();
    let mut weight_map = HashMap::new();
    for (number, parity) in [(1, 0), (2, 1)] {
        let shard = format!("model-0000{number}-of-00002.safetensors");
        let tensors: Vec<_> = reference.tensors().into_iter().filter(|(name, _)| name.len() % 2 == parity).collect();
        for (name, _) in &tensors {
            weight_map.insert(name.clone(), shard.clone());
        }
        safetensors::serialize_to_file(tensors, None, &dir.join(shard)).unwrap();
    }
    write_index(dir, &weight_map);
    weight_map
}

fn write_index(dir: &Path, weight_map: &HashMap<String, String>) {
    let index = serde_json::json!({ "metadata": { "total_size": 1 }, "weight_map": weight_map });
    fs::write(dir.join("model.safetensors.index.json"), index.to_string()).unwrap();
}

#[test]
fn shards_equal_the_single_file() {
    let bytes = fs::read(fixture("tiny-qwen3").join("model.safetensors")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    split(dir.path(), &bytes);
    let checkpoint = Checkpoint::open(dir.path()).unwrap();
    assert_equals_reference(&checkpoint, &bytes);
    assert_eq!(checkpoint.files().count(), 2);
}

#[test]
fn an_index_that_does_not_fit_its_shards_is_refused() {
    let bytes = fs::read(fixture("tiny-qwen3").join("model.safetensors")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut weight_map = split(dir.path(), &bytes);
    let [first, second, third] = ["1", "2", "3"].map(|number| format!("model-0000{number}-of-00002.safetensors"));
    weight_map.insert("ghost".to_owned(), second.clone());
    weight_map.insert("lost".to_owned(), third);
    let right = weight_map.insert("model.norm.weight".to_owned(), first);
    assert_eq!(right, Some(second));
    write_index(dir.path(), &weight_map);

    let error = message(&Checkpoint::open(dir.path()).unwrap_err(), dir.path());
    let mut lines: Vec<&str> = error.lines().collect();
    lines.sort_unstable();
    let at = "  model.safetensors.index.json: weight_map";
    let expected = [
        "  model-00003-of-00002.safetensors: file: cannot be read: No such file or directory (os error 2)".to_owned(),
        format!("{at}.ghost: the tensor is not in model-00002-of-00002.safetensors; no other shard has it"),
        format!(
            "{at}.model.norm.weight: the tensor is not in model-00001-of-00002.safetensors; \
             it is in model-00002-of-00002.safetensors"
        ),
        "MPK-L0304: the checkpoint's files have these problems:".to_owned(),
        "help: the files are damaged, incomplete, or were not written by safetensors: fetch the checkpoint again \
         and compare its checksums"
            .to_owned(),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn an_index_that_points_elsewhere_is_refused() {
    let cases = [
        (r#"{"weight_map":{"a":"../a.safetensors"}}"#, "weight_map.a: \"../a.safetensors\" is not the name of a file"),
        (r#"{"weight_map":{"a":"/etc/passwd"}}"#, "weight_map.a: \"/etc/passwd\" is not the name of a file"),
        (r#"{"weight_map":{"a":1}}"#, "weight_map.a: is a number, not a file name"),
        (r#"{"weight_map":{}}"#, "weight_map: names no tensor"),
        (r#"{"weight_map":[]}"#, "weight_map: invalid type: sequence, expected an object"),
        ("{}", "weight_map: missing field `weight_map`"),
        ("{", "weight_map: EOF while parsing"),
    ];
    for (index, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("model.safetensors.index.json"), index).unwrap();
        let error = message(&Checkpoint::open(dir.path()).unwrap_err(), dir.path());
        let expected = format!("MPK-L0304: model.safetensors.index.json: {expected}");
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[test]
fn a_folder_without_weights_says_what_it_holds() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("pytorch_model.bin"), "").unwrap();
    let error = message(&Checkpoint::open(dir.path()).unwrap_err(), dir.path());
    let expected = "no checkpoint in DIR: neither model.safetensors nor model.safetensors.index.json \
                    (it holds pytorch_model.bin)\nhelp: name the folder that holds a Hugging Face checkpoint in \
                    safetensors format";
    assert_eq!(error, expected);
    let missing = Checkpoint::open(&dir.path().join("nowhere")).unwrap_err();
    assert!(matches!(missing, LoadError::Read { .. }), "{missing}");
}
