//! `model!`: one file for each rule it must keep to, and for each thing it must be able to say.

#[test]
fn model() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("fail/model/*.rs");
    cases.pass("pass/model/*.rs");
}
