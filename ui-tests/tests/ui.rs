//! What `cargo build` must reject: one file for each rule, named after it; the expected messages stand beside them.

use std::path::Path;

/// The contracts that these macros check.
const CODES: [&str; 17] = [
    "E0101", "E0102", "E0103", "E0104", "E0110", "E0111", "E0112", "E0113", "E0114", "E0120", "E0121", "E0130", "E0131", "E0132",
    "E0133", "E0141", "E0160",
];

#[test]
fn rejected() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("fail/task/*.rs");
    cases.compile_fail("fail/model/*.rs");
}

#[test]
fn every_contract_has_a_case_that_fails_and_one_that_passes() {
    for folder in ["fail/task", "pass/task"] {
        let files: Vec<String> = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".rs"))
            .collect();
        for code in CODES {
            assert!(files.iter().any(|name| name.contains(code)), "no case for MPK-{code} in {folder}");
        }
    }
}
