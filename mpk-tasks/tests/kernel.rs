//! The kernel of a dense decoder, from the model to machine code: it compiles for Hopper, keeps its registers and names the author's
//! lines.

// The lints allow `unwrap` in test functions, and not in what they call.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Config, plan};
use mpk_runtime::cuda::codegen::{self, Source};
use mpk_runtime::cuda::nvrtc::{self, Cubin, NvrtcError};
use mpk_runtime::plan::Plan;
use mpk_runtime::task::{Body, TaskDef};
use mpk_tasks::TASKS;

const QWEN3_8B: Config =
    Config { hidden: 4096, inner: 12_288, layers: 36, heads: 32, kv_heads: 8, head_dim: 128, vocab: 151_936 };
const ODD: Config = Config { hidden: 190, inner: 450, layers: 2, heads: 6, kv_heads: 2, head_dim: 48, vocab: 1001 };

/// The CUBIN, or nothing where NVRTC is missing, which is then said.
fn compile(test: &str, source: &Source) -> Option<Result<Cubin, NvrtcError>> {
    match nvrtc::compile(&source.text, &source.headers, "sm_90a") {
        Err(error @ NvrtcError::Missing { .. }) => {
            eprintln!("{test} skipped: {error}");
            None
        }
        result => Some(result),
    }
}

fn check(name: &str, plan: &Plan) {
    let source = codegen::generate(plan).unwrap();
    let Some(result) = compile(name, &source) else { return };
    let cubin = result.unwrap_or_else(|error| panic!("{name}:\n{error}"));
    let kernel = cubin.resources.iter().find(|r| r.function == codegen::KERNEL).unwrap();
    eprintln!("{name}: {} bytes, {kernel:?}, {:?}, packets of {} bytes", cubin.bytes.len(), source.launch, source.packets.bytes);
    assert_eq!((kernel.stack, kernel.spill_stores, kernel.spill_loads), (0, 0, 0), "{name} spills:\n{}", cubin.log);
    assert!(!cubin.log.contains("setmaxnreg ignored"), "{}", cubin.log);
}

#[test]
fn dense_decoders_compile_without_spills() {
    check("Qwen3-8B, 1 row", &plan(&QWEN3_8B, 132, 1, 1, TASKS));
    check("Qwen3-8B, 16 rows, unfused, 2 ranks", &plan(&QWEN3_8B, 132, 2, 16, &[]));
    check("odd sizes, 16 rows", &plan(&ODD, 132, 1, 16, TASKS));
}

#[test]
fn the_same_plan_gives_the_same_source() {
    let source = || codegen::generate(&plan(&QWEN3_8B, 132, 1, 16, TASKS)).unwrap();
    let (a, b) = (source(), source());
    assert_eq!((a.text, a.headers), (b.text, b.headers));
}

#[test]
fn an_error_in_a_body_is_at_its_own_line() {
    let mut plan = plan(&ODD, 132, 1, 1, &[]);
    for node in &mut plan.graph.ops {
        if node.task.name == "silu_mul" {
            let body = Body { text: "dep_wait();\ny.store(0, 0, no_such_name);\n", ..node.task.bodies[0] };
            node.task = Box::leak(Box::new(TaskDef { bodies: Box::leak(Box::new([body])), ..*node.task }));
        }
    }
    let source = codegen::generate(&plan).unwrap();
    let Some(result) = compile("an_error_in_a_body_is_at_its_own_line", &source) else { return };
    let Err(NvrtcError::Source { diagnostics, .. }) = result else { panic!("compiled") };
    assert!(diagnostics[0].file.ends_with("silu_mul/consumer.cuh"), "{diagnostics:?}");
    assert_eq!(diagnostics[0].line, 2);
    assert!(diagnostics[0].message.contains("no_such_name"));
}
