//! What `cargo build` must reject: one file for each rule, named after it; the expected messages stand beside them.

// The lints allow `unwrap` in test functions, and not in what they call.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[test]
fn rejected() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("fail/task/*.rs");
    cases.compile_fail("fail/model/*.rs");
}

#[test]
fn every_contract_has_a_case_that_fails_and_one_that_passes() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut codes = BTreeSet::new();
    for folder in ["../mpk-macros/src", "../mpk-runtime/src"] {
        for file in files(&here.join(folder)) {
            codes.extend(named(&std::fs::read_to_string(file).unwrap_or_default()));
        }
    }
    assert!(codes.len() > 20, "{codes:?}");
    for outcome in ["fail", "pass"] {
        let cases: Vec<String> = files(&here.join(outcome))
            .iter()
            .filter(|path| path.extension().is_some_and(|e| e == "rs"))
            .filter_map(|path| path.file_name()?.to_str().map(str::to_uppercase))
            .collect();
        for code in &codes {
            assert!(cases.iter().any(|name| name.contains(code)), "no case for MPK-{code} in {outcome}");
        }
    }
}

/// The codes of the build that a source names: `E0101` to `E0199`.
fn named(source: &str) -> Vec<String> {
    let words = source.split(|c: char| !c.is_ascii_alphanumeric());
    let is_code = |word: &&str| word.len() == 5 && word.starts_with("E01") && word[1..].bytes().all(|b| b.is_ascii_digit());
    words.filter(is_code).map(str::to_string).collect()
}

/// All files under `folder`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
