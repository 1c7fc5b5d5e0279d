//! Text as it is streamed: to a reader that leaves, until Ctrl-C, and as JSON.

#![cfg(unix)]
// A test: it fails where it can't go on.
#![allow(clippy::unwrap_used)]

use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::Value;

/// `generate` with far more tokens than a test waits for.
fn endless(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_generate"));
    command.args(["--max-new-tokens", "100000"]).args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn a_reader_may_leave() {
    let mut child = endless(&[]).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 20]).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !stderr.contains("panicked"), "{stderr}");
}

#[test]
fn ctrl_c_ends_the_text_and_the_last_line_is_printed() {
    for json in [false, true] {
        let mut child = endless(if json { &["--json"] } else { &[] }).spawn().unwrap();
        let mut text = vec![0; 20];
        if json {
            // Nothing is printed before the end: give it time to begin. Before that Ctrl-C ends it with the same code.
            text.clear();
            std::thread::sleep(std::time::Duration::from_secs(2));
        } else {
            child.stdout.as_mut().unwrap().read_exact(&mut text).unwrap();
        }
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        text.extend(output.stdout);
        let text = String::from_utf8(text).unwrap();
        assert_eq!(output.status.code(), Some(130), "{text}");
        if json {
            let object: Value = serde_json::from_str(&text).unwrap();
            assert!(object["ids"].as_array().is_some_and(|ids| !ids.is_empty()), "{text}");
        } else {
            let last = text.lines().last().unwrap();
            assert!(last.contains(" tokens/s, backend "), "{text}");
        }
    }
}

#[test]
fn json_is_one_object() {
    let output = Command::new(env!("CARGO_BIN_EXE_generate"))
        .args(["--json", "--prompt", "In the beginning", "--max-new-tokens", "8"])
        .output()
        .unwrap();
    assert!(output.status.success());
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    let fields: Vec<_> = object.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["prompt_ids", "ids", "text", "backend", "tokens_per_s"]);
    assert_eq!(object["ids"].as_array().unwrap().len(), 8);
    assert!(object["text"].as_str().is_some_and(|text| text.starts_with(" God created")), "{object}");
}

#[test]
fn the_last_line_is_the_statistics_and_why_it_ended_is_said_apart() {
    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_generate")).args(["--backend", "host"]).args(args).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (text, stderr) = run(&["--max-context", "8"]);
    assert!(
        text.starts_with("In the beginning God created the heaven\n\n5 tokens, ") && text.ends_with(", backend host\n"),
        "{text}"
    );
    assert!(stderr.contains("the context of 8 positions is full"), "{stderr}");
    // As many as were asked for: nothing is to be said.
    let (text, stderr) = run(&["--max-new-tokens", "1"]);
    assert!(text.lines().last().unwrap().starts_with("1 token, ") && stderr.is_empty(), "{text}{stderr}");
}

#[test]
fn a_version_is_that_of_its_program() {
    for (program, name) in [
        (env!("CARGO_BIN_EXE_generate"), "generate"),
        (env!("CARGO_BIN_EXE_plan"), "plan"),
        (env!("CARGO_BIN_EXE_verify"), "verify"),
    ] {
        let output = Command::new(program).arg("--version").output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{name} {}\n", env!("CARGO_PKG_VERSION")));
    }
}
