//! What must be accepted: cases that look dangerous and are right, and whole models. They are compiled as modules of this test, since
//! one build of the runtime serves them all; those that build graphs run.
// A case declares what the macros must accept, used or not, and is a whole file by itself: several have the same stand-in tasks. They
// are tests, so they may unwrap.
#![allow(dead_code, clippy::duplicate_mod, clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;

use mpk_runtime::check::{Case, Check, Matrix, plan};
use mpk_runtime::cuda::{codegen, nvrtc};
use mpk_runtime::shape::{Elem, ElemSpec, Expr, ParamType, PortKind};
use mpk_runtime::task::{Op, OpDef};

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
#[path = "../pass/model/E0140_E0150_E0151_E0152.rs"]
mod e0140_e0150_e0151_e0152;
#[path = "../pass/task/E0140_symbols.rs"]
mod e0140_symbols;
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
    "model/E0140_E0150_E0151_E0152.rs",
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
    "task/E0140_symbols.rs",
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

/// The tasks of the cases, each by itself.
const OPS: &[OpDef] = &[
    e0101_e0104_e0111_roles::stored::DEF,
    e0102_e0103_waits::one_for_all::DEF,
    e0102_e0103_waits::one_for_each::DEF,
    e0102_e0103_waits::one_for_two::DEF,
    e0102_e0103_waits::no_input::DEF,
    e0110_groups::one::DEF,
    e0110_groups::three::DEF,
    e0112_e0113_e0114_e0133_pages::linear::DEF,
    e0112_e0113_e0114_e0133_pages::two_weights::DEF,
    e0120_e0121_grid::everywhere::DEF,
    e0121_once::zeros::DEF,
    e0130_e0131_e0132_e0141_scratch::large::DEF,
    e0130_e0131_e0132_e0141_scratch::small::DEF,
    e0140_e0150_e0151_e0152::shifted::DEF,
    e0140_symbols::both::DEF,
    e0140_symbols::own::DEF,
];

#[test]
fn bodies_are_cuda() {
    for op in OPS {
        let case = case(op);
        let plan = plan(&Check { op: *op, cases: Vec::new }, &case).unwrap_or_else(|error| panic!("{}: {error}", op.name));
        let source = codegen::generate(&plan).unwrap_or_else(|error| panic!("{}: {error}", op.name));
        match nvrtc::compile(&source.text, &source.headers, "sm_90a") {
            Err(error @ nvrtc::NvrtcError::Missing { .. }) => return eprintln!("bodies_are_cuda skipped: {error}"),
            result => drop(result.unwrap_or_else(|error| panic!("{}: {error}", op.name))),
        }
    }
}

#[test]
fn macros_end_with_their_body() {
    let op = e0112_e0113_e0114_e0133_pages::two_weights::DEF;
    let text = codegen::generate(&plan(&Check { op, cases: Vec::new }, &case(&op)).unwrap()).unwrap().text;
    let (define, undef) = (text.find("#define EACH").unwrap(), text.find("#undef EACH\n").unwrap());
    assert!(define < undef && !text[undef..].contains("EACH("), "{text}");
}

#[test]
fn the_cache_is_meant_only_where_nothing_else_is() {
    let text = |op: OpDef| codegen::generate(&plan(&Check { op, cases: Vec::new }, &case(&op)).unwrap()).unwrap().text;
    assert!(text(e0140_symbols::own::DEF).contains("uint32_t P = 128;"));
    assert!(text(e0140_symbols::both::DEF).contains("uint32_t P = 64;"));
}

/// Extents that fit every shape of the cases: 1 for `M`, 128 for the others.
fn extent(expr: &Expr) -> usize {
    match expr {
        Expr::Num(n) => *n as usize,
        Expr::Sym("M") => 1,
        Expr::Sym(_) => 128,
        Expr::Add(a, b) => extent(a) + extent(b),
        Expr::Mul(a, b) => extent(a) * extent(b),
        Expr::Div(a, b) => extent(a) / extent(b),
        Expr::DivCeil(a, b) => extent(a).div_ceil(extent(b)),
    }
}

/// What the first task of an op takes.
fn case(op: &OpDef) -> Case {
    let mut case = Case::new("compiled", 1);
    for port in op.stages[0].signature.ports {
        let elem = if let ElemSpec::Is(elem) = port.elem { elem } else { Elem::Bf16 };
        let extents: Vec<usize> = port.shape.iter().map(extent).collect();
        let zeros = |rows, cols| Matrix::of(rows, cols, |_, _| 0.0);
        case = match port.kind {
            PortKind::In => {
                let parts: &[usize] = if let Expr::Add(..) = port.shape[1] { &[128; 3] } else { &extents[1..] };
                case.input(port.name, elem, &zeros(1, extents[1])).parts(parts)
            }
            PortKind::Weight => case.weight(port.name, &zeros(extents[0], *extents.get(1).unwrap_or(&1))),
            PortKind::Param(ParamType::F32) => case.param(port.name, 1.0),
            PortKind::Param(_) => case.param(port.name, extent(&Expr::Sym(port.name)) as u32),
            _ => case,
        };
    }
    case
}
