//! What must be accepted: cases that look dangerous and are right, and whole models. They are compiled as modules of this test, since
//! one build of the runtime serves them all; those that build graphs run.
// A case declares what the macros must accept, used or not, and is a whole file by itself: several have the same stand-in tasks. They
// are tests, so they may unwrap.
#![allow(dead_code, clippy::duplicate_mod, clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;

#[path = "../pass/model/deepseek_v3.rs"]
mod deepseek_v3;
#[path = "../pass/task/E0101_E0104_E0111_roles.rs"]
mod e0101_e0104_e0111_roles;
#[path = "../pass/task/E0102_E0103_waits.rs"]
mod e0102_e0103_waits;
#[path = "../pass/task/E0110_groups.rs"]
mod e0110_groups;
#[path = "../pass/task/E0112_E0113_E0114_E0133_pages.rs"]
mod e0112_e0113_e0114_e0133_pages;
#[path = "../pass/task/E0120_E0121_grid.rs"]
mod e0120_e0121_grid;
#[path = "../pass/task/E0121_once.rs"]
mod e0121_once;
#[path = "../pass/task/E0130_E0131_E0132_E0141_scratch.rs"]
mod e0130_e0131_e0132_e0141_scratch;
#[path = "../pass/task/E0160_ops.rs"]
mod e0160_ops;
#[path = "../pass/model/grammar.rs"]
mod grammar;
#[path = "../pass/model/qwen3.rs"]
mod qwen3;
#[path = "../pass/model/qwen3_moe.rs"]
mod qwen3_moe;

/// The cases above: a file that is not among them fails the test.
const CASES: &[&str] = &[
    "model/deepseek_v3.rs",
    "model/grammar.rs",
    "model/qwen3.rs",
    "model/qwen3_moe.rs",
    "task/E0101_E0104_E0111_roles.rs",
    "task/E0102_E0103_waits.rs",
    "task/E0110_groups.rs",
    "task/E0112_E0113_E0114_E0133_pages.rs",
    "task/E0120_E0121_grid.rs",
    "task/E0121_once.rs",
    "task/E0130_E0131_E0132_E0141_scratch.rs",
    "task/E0160_ops.rs",
];

#[test]
fn deepseek_v3_builds() {
    deepseek_v3::main();
}

#[test]
fn grammar_builds() {
    grammar::main();
}

#[test]
fn qwen3_builds() {
    qwen3::main();
}

#[test]
fn qwen3_moe_builds() {
    qwen3_moe::main();
}

#[test]
fn every_file_is_a_case() {
    for folder in ["model", "task"] {
        for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("pass").join(folder)).unwrap() {
            let name = format!("{folder}/{}", entry.unwrap().file_name().into_string().unwrap());
            assert!(!name.ends_with(".rs") || CASES.contains(&name.as_str()), "{name} is not compiled: add it to this file");
        }
    }
}
