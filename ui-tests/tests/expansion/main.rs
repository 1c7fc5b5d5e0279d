//! What the macros write, seen from a crate that depends on the runtime alone.

use std::sync::Arc;

use mpk_runtime::reference::{Area, Call, In, Out, Piece, PortView, Weight};
use mpk_runtime::shape::{Elem, ElemSpec, Expr, ParamType, PortKind};
use mpk_runtime::task::{FieldKind, Op, RoleKind, Task, TaskDef};
use mpk_runtime::{bf16, mpk_task, op, task_table};

/// `y = x · Wᵀ + b`.
#[mpk_task(roles(consumer(groups = 2)), smem(scratch(part: [f32; 8 * 16 * 16]), align = 1024), tiles = N / 16, tokens = 16)]
pub fn linear(
    x: In<[bf16; (T, K)]>,
    w: Weight<[W; (N, K)]>,
    bias: Option<Weight<[bf16; (N,)]>>,
    y: Out<[Y; (T, N)]>,
    eps: Param<f32>,
) {
    consumer! {
        // Weights may be touched here.
        auto first = w.row(0);
        dep_wait();
        for (auto p : w.pages()) { y.store(0, 1, x.at(0, 0) + 1.0f); }
    }
    reference! {
        use mpk_runtime::reference::dot;
        for t in y.rows() {
            for n in y.range() {
                let mut value = dot(&x.row(t), w.row(n)) + eps;
                if let Some(bias) = bias {
                    value += bias.get(n);
                }
                y.set(t, n, value);
            }
        }
        assert_eq!((K, N), (w.cols(), w.rows()));
    }
}

#[mpk_task(roles(consumer), tiles = T, additive(x))]
fn scale(x: In<[f32; (T, 2 * N)]>, factor: Param<f32>, N: Param<u32>, y: Out<[f32; (T, N.div_ceil(4))]>) {
    consumer!("scale.cuh");
    reference! { y.set(tiles.start, 0, x.row(0)[0] * factor * N as f32); }
}

#[mpk_task(roles(consumer(threads = 128)), grid, fuses(linear -> scale))]
fn both(x: In<[bf16; (T, K)]>, seen: State<[u64; (4,)], monotonic>, rows: Rows, at: TaskOffset, y: Out<[bf16; (T, K)]>) {
    consumer! { dep_wait(); grid_barrier(); y.store(0, 0, 0.0f); }
    reference! {
        phase { seen.set_word(0, at.index as u64 + 1); }
        phase { seen.set_word(1, rows.len() as u64 + x.rows() as u64 + y.rows().len() as u64); }
    }
}

op! {
    /// A composite.
    pub scaled = linear -> scale
}

static TASKS: &[&TaskDef] = task_table! { linear, scale, both };

#[test]
fn a_task_is_what_its_signature_says() {
    let task = linear::TASK;
    assert_eq!((task.name, task.tokens, task.grid, task.phases), ("linear", 16, false, 1));
    assert_eq!(task.file, "ui-tests/tests/expansion/main.rs");
    assert_eq!((task.roles[0].kind, task.roles[0].groups), (RoleKind::Consumer, 2));
    assert_eq!((task.scratch[0].name, task.scratch[0].len, task.scratch[0].align), ("part", 2048, 1024));
    assert_eq!(task.streams, ["w"]);
    let ports = task.signature.ports;
    assert_eq!(ports.iter().map(|p| p.name).collect::<Vec<_>>(), ["x", "w", "bias", "y", "eps"]);
    assert!(ports[2].optional && !ports[1].optional);
    assert!(matches!(ports[0].elem, ElemSpec::Is(Elem::Bf16)) && matches!(ports[1].elem, ElemSpec::Var("W")));
    assert_eq!(ports[4].kind, PortKind::Param(ParamType::F32));
    assert!(matches!(task.signature.tiles.axis, Expr::Sym("N")) && matches!(task.signature.tiles.width, Expr::Num(16)));
    let both = both::TASK;
    assert_eq!((both.grid, both.phases), (true, 2));
    assert_eq!(both.fuses.iter().map(|op| op.name).collect::<Vec<_>>(), ["linear", "scale"]);
    assert!(both.fuses[1].stages[0].is(&scale::TASK));
    assert_eq!(both.signature.ports[1].kind, PortKind::State { monotonic: true });
}

#[test]
fn bodies_keep_their_place() {
    let body = linear::TASK.bodies[0];
    let source = include_str!("main.rs");
    let at = source.lines().position(|line| line.contains("auto first = w.row(0);")).unwrap();
    assert_eq!((body.file, body.line as usize), ("ui-tests/tests/expansion/main.rs", at + 1));
    let expected: Vec<&str> = source.lines().skip(at).take(3).collect();
    assert_eq!(body.text.lines().collect::<Vec<_>>(), expected);
    let body = scale::TASK.bodies[0];
    assert_eq!((body.file, body.line, body.text), ("ui-tests/tests/expansion/scale.cuh", 1, include_str!("scale.cuh")));
}

#[test]
fn the_parameter_block_is_laid_out_once() {
    let block = linear::TASK.block;
    let fields: Vec<_> = block.fields.iter().map(|f| (f.name, f.kind, f.offset)).collect();
    assert_eq!(
        fields,
        [
            ("x", FieldKind::Address, 0),
            ("w", FieldKind::Address, 8),
            ("bias", FieldKind::Address, 16),
            ("y", FieldKind::Address, 24),
            ("T", FieldKind::Dim, 32),
            ("K", FieldKind::Dim, 36),
            ("N", FieldKind::Dim, 40),
            ("eps", FieldKind::F32, 44),
        ]
    );
    assert_eq!(block.size, 48);
    assert!(block.cpp.contains("unsigned long long bias;") && block.cpp.contains("__builtin_offsetof(Block, eps) == 44"));
    // `N` is a parameter and a symbol: one field.
    let block = scale::TASK.block;
    assert_eq!(block.fields.iter().map(|f| f.name).collect::<Vec<_>>(), ["x", "y", "T", "factor", "N"]);
    assert!(block.size == 32 && block.cpp.contains("unsigned pad0;"));
}

#[test]
fn composites_and_tables_name_their_tasks() {
    assert_eq!(scaled::DEF.name, "scaled");
    assert_eq!(scaled::DEF.stages.iter().map(|t| t.name).collect::<Vec<_>>(), ["linear", "scale"]);
    assert_eq!(TASKS.iter().map(|t| t.name).collect::<Vec<_>>(), ["linear", "scale", "both"]);
    assert_eq!(linear::DEF.stages[0].name, "linear");
}

#[test]
fn the_reference_computes() {
    let x = [1.0f32, 2.0, 0.0, 0.0].map(bf16::from_f32);
    let w = [1.0f32, 0.5, -1.0, 3.0].map(bf16::from_f32);
    let (mut xs, mut ys) = ([0u64; 1], [0u64; 2]);
    bytemuck_copy(&x, &mut xs);
    // SAFETY: both arrays are aligned to 8 bytes, initialised, and live to the end of the test; nothing else accesses them.
    let (xa, ya) = unsafe { (Area::new(xs.as_mut_ptr().cast(), 8), Area::new(ys.as_mut_ptr().cast(), 16)) };
    let weight = Weight { pieces: vec![Piece { data: &w, rows: 2, stride: 2, first: 0, cols: 2 }] };
    let (xa, ya): (Arc<[Area]>, Arc<[Area]>) = ([xa].into(), [ya].into());
    let ports = [
        PortView::In(In { areas: xa, source: 0, elem: Elem::Bf16, rows: 1, features: 2, first: 0 }),
        PortView::Weight(&weight),
        PortView::Absent,
        PortView::Out(Out { areas: ya.clone(), elem: Elem::F32, rows: 0..1, own: 0..2, features: 2 }),
        PortView::F32(0.25),
    ];
    let dims = [("T", 1), ("K", 2), ("N", 2)];
    (linear::TASK.reference)(&mut Call { ports: &ports, dims: &dims, tiles: 0..1, phase: 0 });
    let y = In { areas: ya, source: 0, elem: Elem::F32, rows: 1, features: 2, first: 0 };
    assert_eq!(*y.row(0), [2.25, 5.25]);
}

fn bytemuck_copy(from: &[bf16], to: &mut [u64; 1]) {
    to[0] = from.iter().rev().fold(0, |word, v| word << 16 | u64::from(v.to_bits()));
}
