//! Every task is what its definition says; a task that is not is found.

// The lints allow `unwrap` in test functions, and not in what they call.
#![allow(clippy::unwrap_used)]

use mpk_runtime::check::{Check, plan, run, start};
use mpk_runtime::cuda::codegen;
use mpk_runtime::cuda::nvrtc::{self, NvrtcError};
use mpk_runtime::engine::Backend;
use mpk_runtime::mpk_task;
use mpk_runtime::task::Op;
use mpk_tasks::{CHECKS, TASKS};

/// A sum that leaves out the last feature of each run of tiles.
#[mpk_task(roles(consumer), tiles = H / 64)]
fn short_add(x: In<[X; (T, H)]>, r: In<[R; (T, H)]>, y: Out<[R; (T, H)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0) + r.at(0, 0)); }
    reference! {
        for t in y.rows() {
            let own = y.range();
            for n in own.start..own.end - 1 {
                y.set(t, n, r.part(t, n..n + 1)[0] + x.part(t, n..n + 1)[0]);
            }
        }
    }
}

/// A sum that takes one value twice.
#[mpk_task(roles(consumer), tiles = H / 64)]
fn twice(x: In<[X; (T, H)]>, r: In<[R; (T, H)]>, y: Out<[R; (T, H)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0) + r.at(0, 0)); }
    reference! {
        for t in y.rows() {
            for n in y.range() {
                y.set(t, n, r.part(t, n..n + 1)[0] + 2.0 * x.part(t, n..n + 1)[0]);
            }
        }
    }
}

#[test]
fn every_task_equals_its_definition_and_every_mutant_is_refused() {
    let report = run(CHECKS, start(Backend::Host).unwrap());
    assert!(report.pass, "{report}");
    assert_eq!(report.tasks.iter().map(|t| t.task).collect::<Vec<_>>(), TASKS.iter().map(|t| t.name).collect::<Vec<_>>());
    assert!(report.tasks.iter().all(|t| t.cases >= 9 && t.refused == t.mutants && t.mutants >= 2 * t.cases), "{report}");
}

#[test]
fn a_task_that_leaves_something_out_is_found() {
    let add = CHECKS.iter().find(|check| check.op.name == "add").unwrap();
    for (op, what) in [(short_add::DEF, "elements were never written, the first in row 0, column "), (twice::DEF, "off by")] {
        let report = run(&[Check { op, cases: add.cases }], start(Backend::Host).unwrap());
        assert!(!report.pass);
        assert_eq!(report.tasks[0].failures.len(), report.tasks[0].cases, "{report}");
        assert!(report.tasks[0].failures.iter().all(|failure| failure.contains(what)), "{report}");
    }
}

#[test]
fn what_feeds_the_checks_compiles_for_a_gpu() {
    // Between them they take values of every type, in one to three parts.
    for name in ["add", "argmax_reduce", "attention_partial", "silu_mul", "tensor_init"] {
        let check = CHECKS.iter().find(|check| check.op.name == name).unwrap();
        let case = (check.cases)().remove(0);
        let source = codegen::generate(&plan(check, &case).unwrap()).unwrap();
        match nvrtc::compile(&source.text, &source.headers, "sm_90a") {
            Err(error @ NvrtcError::Missing { .. }) => return eprintln!("skipped: {error}"),
            Err(error) => panic!("{name}:\n{error}"),
            Ok(cubin) => assert!(cubin.resources.iter().all(|r| r.spill_stores == 0), "{name}:\n{}", cubin.log),
        }
    }
}
