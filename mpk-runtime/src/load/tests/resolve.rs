//! MPK-L0301 and MPK-L0302, their texts included.

use safetensors::Dtype;
use safetensors::tensor::TensorView;

use super::message;
use crate::load::{Checkpoint, Want};

/// A checkpoint of these tensors, resolved with `wants` and `extras`: the names found, or the error's text.
fn resolve(tensors: &[(&str, Dtype, &[usize])], wants: &[(&[&str], &[usize])], extras: &[&str]) -> Result<Vec<String>, String> {
    let zeros = [0; 64];
    let views = tensors.iter().map(|(name, dtype, shape)| {
        let len = shape.iter().product::<usize>() * dtype.bitsize() / 8;
        (name, TensorView::new(*dtype, shape.to_vec(), &zeros[..len]).unwrap())
    });
    let dir = tempfile::tempdir().unwrap();
    safetensors::serialize_to_file(views, None, &dir.path().join("model.safetensors")).unwrap();
    let checkpoint = Checkpoint::open(dir.path()).unwrap();
    let wants: Vec<Want> = wants
        .iter()
        .map(|(names, shape)| Want { names: names.iter().map(ToString::to_string).collect(), shape: shape.to_vec() })
        .collect();
    let extras: Vec<String> = extras.iter().map(ToString::to_string).collect();
    match checkpoint.resolve(&wants, &extras) {
        Ok(ids) => Ok(ids.into_iter().map(|id| checkpoint.tensor(id).name().to_owned()).collect()),
        Err(error) => Err(message(&error, dir.path())),
    }
}

const BF16: Dtype = Dtype::BF16;

#[test]
fn the_first_name_that_exists_wins_and_all_count_as_used() {
    let embed = ("embed", BF16, [2, 3].as_slice());
    let tied: (&[&str], &[usize]) = (&["lm_head", "embed"], &[2, 3]);
    assert_eq!(resolve(&[embed], &[tied], &[]).unwrap(), ["embed"]);
    let both = [embed, ("lm_head", Dtype::F32, &[2, 3])];
    assert_eq!(resolve(&both, &[tied], &[]).unwrap(), ["lm_head"]);
    let twice = [tied, (&["embed"], &[2, 3])];
    assert_eq!(resolve(&both, &twice, &[]).unwrap(), ["lm_head", "embed"]);
}

#[test]
fn extras_need_no_use() {
    let tensors = [("l.0.inv_freq", Dtype::I64, [1].as_slice()), ("l.1.inv_freq", Dtype::I64, &[1]), ("bos", Dtype::U8, &[1])];
    assert!(resolve(&tensors, &[], &["l.*.inv_freq", "bos"]).unwrap().is_empty());
    assert!(resolve(&tensors, &[], &["l.*.inv_freq"]).is_err());
}

#[test]
fn every_miss_and_every_unused_tensor_is_listed() {
    let tensors = [
        ("model.layers.0.mlp.up_proj.weight", BF16, [2, 3].as_slice()),
        ("model.layers.1.mlp.up_proj.weight", BF16, &[2, 3]),
        ("model.layers.1.mlp.gate_proj.weight", BF16, &[3, 2]),
        ("model.norm.weight", Dtype::F8_E4M3, &[3]),
        ("model.embed.weight", BF16, &[4, 3]),
        ("visual.patch", Dtype::F32, &[5]),
    ];
    let wants: [(&[&str], &[usize]); 6] = [
        (&["model.layers.0.mlp.up_proj.weight"], &[2, 3]),
        (&["model.layers.1.mlp.upproj.weight"], &[2, 3]),
        (&["model.layers.1.mlp.gate_proj.weight"], &[2, 3]),
        (&["model.norm.weight"], &[3]),
        (&["lm_head.weight", "model.embed.weight"], &[5, 3]),
        (&["score.bias", "q"], &[]),
    ];
    let expected = "\
MPK-L0301: 5 tensors that the model names are missing or differ in DIR:
  model.layers.1.mlp.upproj.weight [2, 3]: missing; the nearest name is model.layers.1.mlp.up_proj.weight [2, 3]
  model.layers.1.mlp.gate_proj.weight [2, 3]: has shape [3, 2] in the checkpoint
  model.norm.weight [3]: has type F8_E4M3; BF16, F16 and F32 can be read; use the checkpoint that was published in \
one of these types
  lm_head.weight or model.embed.weight [5, 3]: model.embed.weight has shape [4, 3] in the checkpoint
  score.bias or q []: missing, and no name is near
help: check that config.json belongs to these weights, `tie_word_embeddings` too, and the names and shapes in the model
MPK-L0302: 2 tensors of the checkpoint are used by nothing in the model, in DIR:
  model.layers.1.mlp.up_proj.weight BF16 [2, 3]
  visual.patch F32 [5]
help: check that config.json belongs to these weights; in a model of your own use each, or name it as unneeded: extra \"NAME\";";
    assert_eq!(resolve(&tensors, &wants, &[]).unwrap_err(), expected);
}

#[test]
fn one_wrong_name_in_all_layers_is_one_line() {
    let names: Vec<String> = (0..12).map(|i| format!("layers.{i}.q_norm.weight")).collect();
    let tensors: Vec<_> = names.iter().map(|name| (name.as_str(), BF16, [2].as_slice())).collect();
    let wanted: Vec<String> = (0..12).map(|i| format!("layers.{i}.qnorm.weight")).collect();
    let wanted: Vec<[&str; 1]> = wanted.iter().map(|name| [name.as_str()]).collect();
    let wants: Vec<(&[&str], &[usize])> = wanted.iter().map(|name| (name.as_slice(), [2].as_slice())).collect();
    let expected = "\
MPK-L0301: 12 tensors that the model names are missing or differ in DIR:
  layers.{0-11}.qnorm.weight [2]: missing; the nearest name is layers.{0-11}.q_norm.weight [2]
help: check that config.json belongs to these weights, `tie_word_embeddings` too, and the names and shapes in the model
MPK-L0302: 12 tensors of the checkpoint are used by nothing in the model, in DIR:
  layers.{0-11}.q_norm.weight BF16 [2]
help: check that config.json belongs to these weights; in a model of your own use each, or name it as unneeded: extra \"NAME\";";
    assert_eq!(resolve(&tensors, &wants, &[]).unwrap_err(), expected);
}
