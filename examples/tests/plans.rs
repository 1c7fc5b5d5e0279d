//! Plans of real configs: proven, the same every time, cut to slices, and made in no time.

// A test: it fails where it can't go on.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use models::FAMILIES;
use mpk_runtime::engine::{PlanOptions, Proven};
use mpk_runtime::load::Config;

fn configs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("configs")
}

fn hopper() -> PlanOptions {
    PlanOptions { families: FAMILIES, workers: 132, rows: 1, slots: 1, ranks: 1, context: None, layers: None, chain: false }
}

fn plan(name: &str, options: PlanOptions) -> Proven {
    Proven::new(&Config::read(&configs().join(name)).unwrap(), options).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_config_is_planned_and_proven() {
    let mut names: Vec<_> = configs().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert!(names.len() >= 9);
    for name in names {
        let name = name.to_str().unwrap();
        for options in [
            hopper(),
            PlanOptions { chain: true, ..hopper() },
            PlanOptions { ranks: 2, rows: 16, slots: 16, ..hopper() },
            PlanOptions { ranks: 8, rows: 16, slots: 16, layers: Some(0..2), ..hopper() },
        ] {
            assert!(plan(name, options).proof.tasks > 1000, "{name}");
        }
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "a time of the release build")]
fn an_8b_model_is_planned_and_proven_within_two_seconds() {
    let proven = plan("Qwen3-8B.json", hopper());
    let time = proven.planning + proven.proving;
    assert!(time < Duration::from_secs(2), "{time:?}");
}

#[test]
fn the_same_config_gives_the_same_bytes() {
    let json = || plan("Llama-3.2-1B.json", PlanOptions { ranks: 2, ..hopper() }).plan.to_json().unwrap();
    assert!(json() == json());
}

#[test]
fn a_slice_is_the_model_less_its_layers() {
    let full = plan("Qwen3-8B.json", hopper()).plan;
    let in_layer = full.graph.ops.iter().filter(|op| op.layer == Some(0)).count();
    for layers in [0..1, 4..8, 35..36, 0..36] {
        // The proof compares the ops with those of the whole model (MPK-P0207).
        let slice = plan("Qwen3-8B.json", PlanOptions { layers: Some(layers.clone()), ..hopper() }).plan;
        assert_eq!(slice.ops.len(), full.ops.len() - in_layer * (36 - layers.len()));
        assert_eq!(slice.graph.layers, layers);
    }
}
