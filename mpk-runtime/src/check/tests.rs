//! A check that can't see what it is for is an error, and no task ends the checks of the others.

use super::{Case, Check, Matrix, Report, Rule, run, start};
use crate::engine::Backend;
use crate::mpk_task;
use crate::shape::Elem;
use crate::task::Op;

/// `y = factor · x`.
#[mpk_task(roles(consumer), tiles = N / 64)]
fn scale(x: In<[bf16; (T, N)]>, factor: Param<f32>, y: Out<[f32; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, factor * x.at(0, 0)); }
    reference! {
        for t in y.rows() {
            for n in y.range() {
                y.set(t, n, factor * x.part(t, n..n + 1)[0]);
            }
        }
    }
}

/// What leaves its output alone.
#[mpk_task(roles(consumer), tiles = N / 64)]
fn silent(x: In<[bf16; (T, N)]>, factor: Param<f32>, y: Out<[f32; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, factor * x.at(0, 0)); }
    reference! { let _ = (x, factor, y); }
}

/// What fails on some rows.
#[mpk_task(roles(consumer), tiles = N / 64)]
fn fragile(x: In<[bf16; (T, N)]>, factor: Param<f32>, y: Out<[f32; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, factor * x.at(0, 0)); }
    reference! {
        assert!(y.rows().len() < 2, "too many rows for it");
        for t in y.rows() {
            for n in y.range() {
                y.set(t, n, factor * x.part(t, n..n + 1)[0]);
            }
        }
    }
}

/// What gives two values.
#[mpk_task(roles(consumer), tiles = N / 64)]
fn split(x: In<[f32; (T, N)]>, y: Out<[f32; (T, N)]>, z: Out<[f32; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0)); z.store(0, 0, x.at(0, 0)); }
    reference! {
        for t in y.rows() {
            for n in y.range() {
                y.set(t, n, x.part(t, n..n + 1)[0]);
                z.set(t, n, x.part(t, n..n + 1)[0]);
            }
        }
    }
}

fn x(rows: usize) -> Matrix {
    Matrix::of(rows, 200, |t, n| (t * 200 + n) as f64 % 7.0 + 1.0)
}

fn y(rows: usize) -> Matrix {
    Matrix::of(rows, 200, |t, n| 0.5 * x(rows).at(t, n))
}

fn cases() -> Vec<Case> {
    let case = |rows| Case::new("", rows).input("x", Elem::Bf16, &x(rows)).param("factor", 0.5f32);
    [1, 3].map(|rows| case(rows).gives("y", Rule::Exact, y(rows))).into()
}

/// A case to which something is yet to flow.
fn fed() -> Case {
    Case::new("", 1).param("factor", 0.5f32)
}

fn check(checks: &[Check]) -> Report {
    run(checks, start(Backend::Host).unwrap())
}

/// The only failure of the only case of `scale`.
fn failure(cases: fn() -> Vec<Case>) -> String {
    let mut report = check(&[Check { op: scale::DEF, cases }]);
    assert!(!report.pass && report.tasks[0].failures.len() == 1, "{report}");
    report.tasks[0].failures.remove(0)
}

#[test]
fn a_name_that_no_port_has_is_told_with_those_that_would_do() {
    assert!(check(&[Check { op: scale::DEF, cases }]).pass);
    let text = failure(|| vec![fed().input("xx", Elem::Bf16, &x(1)).gives("y", Rule::Exact, y(1))]);
    assert!(text.contains("`xx` is not an `In` of scale, which has `x`\nhelp: "), "{text}");
    let text = failure(|| vec![fed().input("x", Elem::Bf16, &x(1)).gives("yy", Rule::Exact, y(1)).gives("y", Rule::Exact, y(1))]);
    assert!(text.contains("`yy` is not an `Out` of scale, which has `y`"), "{text}");
    // The name of another kind of port, and all of them at once.
    let text = failure(|| {
        let case = fed().input("x", Elem::Bf16, &x(1)).param("faktor", 1f32).weight("factor", &y(1));
        vec![case.state("s", &y(1)).leaves("t", Rule::Exact, y(1)).gives_view("y", Matrix::clone, Rule::Exact, y(1))]
    });
    for line in [
        "`factor` is not a `Weight` of scale, which has none",
        "`faktor` is not a `Param` or an `Out` of scale, which has `factor`, `y`",
        "`s` is not a `State`",
        "`t` is not a `State`",
    ] {
        assert!(text.contains(line), "no {line} in {text}");
    }
}

#[test]
fn what_a_case_says_too_early_or_in_another_order_is_told() {
    let text = failure(|| {
        let case = Case::new("", 1).not("the factor", x(1)).parts(&[200]).param("factor", 0.5f32);
        vec![case.input("x", Elem::Bf16, &x(1)).gives("y", Rule::Exact, y(1))]
    });
    assert!(text.contains("without the factor comes before") && text.contains("`parts` comes before"), "{text}");
    let text = failure(|| {
        let case = cases().remove(0);
        let rows = case.steps[0].rows.clone();
        vec![case.then(rows).gives("y", Rule::Exact, y(1))]
    });
    assert!(text.contains("a step has the inputs [], the first [\"x\"]"), "{text}");
}

#[test]
fn an_output_that_nobody_writes_is_told() {
    let report = check(&[Check { op: silent::DEF, cases }]);
    let failures = &report.tasks[0].failures;
    assert!(
        failures[0].contains("`y` on rank 0: 200 of 200 elements were never written, the first in row 0, column 0"),
        "{report}"
    );
    assert!(failures[1].contains("600 of 600 elements were never written"), "{report}");
}

#[test]
fn an_output_that_no_case_speaks_of_is_told() {
    let cases = || vec![Case::new("", 1).input("x", Elem::F32, &x(1)).gives("y", Rule::Exact, x(1))];
    let report = check(&[Check { op: split::DEF, cases }]);
    assert!(!report.pass && report.tasks[0].failures[0].contains("no case says what `z` is\nhelp: "), "{report}");
    let none = check(&[Check { op: split::DEF, cases: Vec::new }]);
    assert!(
        !none.pass && none.tasks[0].failures == ["it has no cases\nhelp: give some: a task without is not checked"],
        "{none}"
    );
}

#[test]
fn a_panic_is_a_failure_of_its_task_alone() {
    let report = check(&[
        Check { op: fragile::DEF, cases },
        Check { op: scale::DEF, cases: || panic!("no cases today") },
        Check { op: scale::DEF, cases },
        Check { op: scale::DEF, cases: || vec![cases().remove(0).gives_view("y", |_| panic!("no view"), Rule::Exact, y(1))] },
    ]);
    assert!(!report.pass && report.tasks.iter().map(|task| task.pass).eq([false, false, true, false]), "{report}");
    let failures: Vec<_> = report.tasks.iter().map(|task| task.failures.join("\n")).collect();
    assert!(failures[0].contains("3 rows, : ") && failures[0].contains("too many rows for it, at "), "{report}");
    assert!(failures[1].contains("its cases panic: no cases today, at mpk-runtime"), "{report}");
    assert!(failures[3].contains("it panics: no view, at "), "{report}");
}
