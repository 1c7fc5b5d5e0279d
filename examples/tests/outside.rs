//! `model!`, `op!` and `#[mpk_task]` in a crate that is not of this workspace and depends on `mpk-runtime` alone.

// A test: it fails where it can't go on.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn a_crate_outside_of_the_workspace_runs_and_checks_its_tasks() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::copy(here.join("../Cargo.lock"), here.join("outside/Cargo.lock")).unwrap();
    let stdout = cargo("run", &[]);
    assert!(stdout.starts_with("Bag: "), "{stdout}");
    let stdout = cargo("test", &["--", "--nocapture"]);
    assert!(stdout.contains("test result: ok. 2 passed"), "{stdout}");
}

/// What a command of cargo prints there. With the workspace's own versions, profiles and target folder most of it is built already,
/// and nothing is downloaded.
fn cargo(command: &str, more: &[&str]) -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_BIN_EXE_generate"));
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or("cargo".into()));
    cargo.args([command, "--offline", "--quiet", "--manifest-path"]).arg(here.join("outside/Cargo.toml"));
    cargo.arg("--config").arg(here.join("../Cargo.toml"));
    cargo.arg("--target-dir").arg(program.ancestors().nth(2).unwrap());
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let output = cargo.args(more).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    stdout.into_owned()
}
