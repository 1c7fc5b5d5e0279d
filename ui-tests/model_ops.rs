//! Ops for the tests of `model!`: signatures without bodies.
#![allow(non_camel_case_types, dead_code)]

use mpk_runtime::reference::Call;
use mpk_runtime::shape::{Collective, Elem, ElemSpec, Expr, ParamType, Port, PortKind, Signature, Tiles};
use mpk_runtime::task::{Block, Op, OpDef, TaskDef};

fn nothing(_: &mut Call<'_>) {}

const fn task(signature: Signature) -> TaskDef {
    TaskDef {
        name: signature.name,
        signature,
        roles: &[],
        scratch: &[],
        tokens: 16,
        grid: false,
        fuses: &[],
        block: Block { size: 0, fields: &[], cpp: "" },
        bodies: &[],
        streams: &[],
        reference: nothing,
        phases: 1,
        file: file!(),
    }
}

/// An expression of symbols: `T`, `(N * 2)`, `[A * B]`.
macro_rules! expr {
    ([$a:tt * $b:tt]) => { Expr::Mul(&expr!($a), &expr!($b)) };
    ([$a:tt + $b:tt]) => { Expr::Add(&expr!($a), &expr!($b)) };
    ($n:literal) => { Expr::Num($n) };
    ($sym:ident) => { Expr::Sym(stringify!($sym)) };
}

macro_rules! kind {
    (In) => { PortKind::In };
    (Out) => { PortKind::Out };
    (Weight) => { PortKind::Weight };
    (State) => { PortKind::State { monotonic: false } };
    (Rows) => { PortKind::Rows };
    (f32) => { PortKind::Param(ParamType::F32) };
    (u32) => { PortKind::Param(ParamType::U32) };
    (rope) => { PortKind::Param(ParamType::Rope) };
}

macro_rules! elem {
    (f32) => { ElemSpec::Is(Elem::F32) };
    (u32) => { ElemSpec::Is(Elem::U32) };
    (u64) => { ElemSpec::Is(Elem::U64) };
    (bf16) => { ElemSpec::Is(Elem::Bf16) };
    ($var:ident) => { ElemSpec::Var(stringify!($var)) };
}

/// `name(port: kind elem (shape)?, …) by axis, …` defines the op `name`.
macro_rules! op {
    ($name:ident($($port:ident: $kind:ident $elem:ident ($($dim:tt),*) $($optional:literal)?),*) by $axis:tt
        $(, collective $collective:ident)? $(, additive $($additive:ident)*)?) => {
        pub struct $name;
        impl Op for $name {
            const DEF: OpDef = OpDef {
                name: stringify!($name),
                stages: &[&task(Signature {
                    name: stringify!($name),
                    ports: &[$(Port {
                        name: stringify!($port),
                        kind: kind!($kind),
                        optional: { #[allow(unused)] let optional = ""; $(let optional = $optional;)? !optional.is_empty() },
                        elem: elem!($elem),
                        shape: &[$(expr!($dim)),*],
                    }),*],
                    tiles: Tiles { axis: expr!($axis), width: Expr::Num(16) },
                    collective: { #[allow(unused)] let collective = None; $(let collective = Some(Collective::$collective);)? collective },
                    additive: &[$($(stringify!($additive)),*)?],
                    broken: false,
                })],
            };
        }
    };
}

op!(embedding(rows: Rows u32 (), w: Weight W (V, H), y: Out bf16 (T, H)) by H);
op!(rmsnorm(x: In bf16 (T, H), w: Weight W (H), eps: f32 f32 (), y: Out bf16 (T, H)) by T);
op!(linear_v3(x: In bf16 (T, K), w: Weight W (N, K), bias: Weight W (N) "optional", y: Out Y (T, N)) by N);
op!(paged_attention(qkv: In bf16 (T, [Q + [KV + KV]]), q_norm: Weight W (head_dim) "optional", k_norm: Weight W (head_dim) "optional",
    head_dim: u32 u32 (), rope: rope f32 (), eps: f32 f32 (), rows: Rows u32 (), k: State bf16 (P, KV), v: State bf16 (P, KV),
    y: Out bf16 (T, Q)) by Q);
op!(silu_mul(x: In bf16 (T, [2 * I]), y: Out bf16 (T, I)) by I);
op!(add(x: In bf16 (T, N), r: In bf16 (T, N), y: Out bf16 (T, N)) by N, additive x r);
op!(all_reduce(x: In bf16 (T, N), y: Out bf16 (T, N)) by N, collective Sum);
op!(argmax(x: In Y (T, N), y: Out u32 (T, 1)) by T, collective Gather);
