//! `model!`, `op!` and `#[mpk_task]` in a crate that is not of this workspace and depends on `mpk-runtime` alone.

// A test: it fails where it can't go on.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn a_crate_outside_of_the_workspace_builds_and_runs() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let outside = here.join("outside");
    // With the workspace's own versions, profiles and target folder most of it is built already, and nothing is downloaded.
    let workspace = here.join("../Cargo.toml");
    fs::copy(here.join("../Cargo.lock"), outside.join("Cargo.lock")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_generate"));
    let target = program.ancestors().nth(2).unwrap();
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or("cargo".into()));
    cargo.args(["run", "--offline", "--quiet", "--manifest-path"]).arg(outside.join("Cargo.toml"));
    cargo.arg("--config").arg(workspace);
    cargo.arg("--target-dir").arg(target);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let output = cargo.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(stdout.starts_with("Bag: "), "{stdout}");
}
