//! Each task against a computation of its definition, and its CUDA C++ through the compiler.

use mpk_runtime::check::{self, Case, Check, Matrix, Rule, STEP_ROWS, over};
use mpk_runtime::cuda::codegen;
use mpk_runtime::cuda::nvrtc::{self, NvrtcError};
use mpk_runtime::engine::Backend;
use mpk_runtime::shape::Elem;
use mpk_runtime::step::{Row, StepRows};
use mpk_runtime::task::Op;

use crate::tasks::{add, lookup, project, scale};

const CHECKS: [Check; 4] = [
    Check { op: lookup::DEF, cases: lookups },
    Check { op: scale::DEF, cases: scales },
    Check { op: project::DEF, cases: projects },
    Check { op: add::DEF, cases: adds },
];

fn lookups() -> Vec<Case> {
    over(&[64, 90], |random, rows, h| {
        let w = random.matrix(Elem::Bf16, 50, h);
        let tokens: Vec<usize> = (0..rows).map(|_| random.below(50)).collect();
        let row = |(position, token): (usize, &usize)| Row { slot: 0, position, token: *token as u32, sample: true };
        let table = StepRows::new(tokens.iter().enumerate().map(row).collect(), vec![vec![0]]);
        let y = Matrix::of(rows, h, |t, n| w.at(tokens[t], n));
        Case::of(format!("{h} features"), table).weight("w", &w).gives("y", Rule::Exact, y)
    })
}

fn scales() -> Vec<Case> {
    over(&[64, 90], |random, rows, h| {
        let x = random.matrix(Elem::F32, rows, h);
        let y = Matrix::of(rows, h, |t, n| 0.5 * x.at(t, n));
        Case::new(format!("{h} features"), rows)
            .input("x", Elem::F32, &x)
            .param("factor", 0.5f32)
            .gives("y", Rule::Close(h), y)
            .not("the factor", x)
    })
}

fn projects() -> Vec<Case> {
    over(&[(50, 90), (64, 64)], |random, rows, (n, k)| {
        let (x, w) = (random.matrix(Elem::Bf16, rows, k), random.matrix(Elem::Bf16, n, k));
        let y = Matrix::of(rows, n, |t, n| (0..k).map(|i| x.at(t, i) * w.at(n, i)).sum());
        Case::new(format!("{n} × {k}"), rows).input("x", Elem::Bf16, &x).weight("w", &w).gives("y", Rule::Close(n), y)
    })
}

fn adds() -> Vec<Case> {
    over(&[64, 90], |random, rows, h| {
        let (x, r) = (random.matrix(Elem::F32, rows, h), random.matrix(Elem::F32, rows, h));
        let y = Matrix::of(rows, h, |t, n| x.at(t, n) + r.at(t, n));
        let case = Case::new(format!("{h} features"), rows).input("x", Elem::F32, &x).input("r", Elem::F32, &r);
        case.gives("y", Rule::Close(h), y).not("the residual", x)
    })
}

#[test]
fn every_task_gives_what_its_definition_says() {
    let report = check::run(&CHECKS, check::start(Backend::Host).unwrap());
    assert!(report.pass, "{report}");
    assert!(report.tasks.iter().all(|task| task.cases == 2 * STEP_ROWS.len()), "{report}");
}

#[test]
fn every_kernel_compiles() {
    for check in CHECKS {
        let case = (check.cases)().remove(0);
        let source = codegen::generate(&check::plan(&check, &case).unwrap()).unwrap();
        match nvrtc::compile(&source.text, &source.headers, "sm_90a") {
            Ok(_) => {}
            Err(error @ NvrtcError::Missing { .. }) => return eprintln!("skipped: {error}"),
            Err(error) => panic!("{}:\n{error}", check.op.name),
        }
    }
}
