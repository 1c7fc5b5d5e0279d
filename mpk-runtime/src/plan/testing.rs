//! A small decoder as the tests plan it: hand-written tasks, with the signatures that the real ones have.

use super::{Options, Plan};
use crate::graph::{Builder, Graph, GraphError, Input, OpCall, Value, WeightExpr};
use crate::reference::Call;
use crate::rope::Rope;
use crate::shape::{Collective, Elem, ElemSpec, Expr, ParamType, Port, PortKind, Shard, Signature, Tiles};
use crate::task::{Block, OpDef, Region, Role, RoleKind, TaskDef};

use Expr::{Add, Div, DivCeil, Mul, Num, Sym};

pub(crate) const BF16: ElemSpec = ElemSpec::Is(Elem::Bf16);

pub(crate) const fn port(name: &'static str, kind: PortKind, elem: ElemSpec, shape: &'static [Expr]) -> Port {
    Port { name, kind, optional: false, elem, shape }
}

const fn optional(name: &'static str, shape: &'static [Expr]) -> Port {
    Port { optional: true, ..port(name, PortKind::Weight, BF16, shape) }
}

const fn param(name: &'static str, ty: ParamType) -> Port {
    port(name, PortKind::Param(ty), BF16, &[])
}

const fn nothing(_: &mut Call<'_>) {}

pub(crate) const fn task(name: &'static str, ports: &'static [Port], tiles: Tiles) -> TaskDef {
    TaskDef {
        name,
        signature: Signature { name, ports, tiles, collective: None, additive: &[], broken: false },
        roles: &[Role { kind: RoleKind::Consumer, groups: 2 }],
        scratch: &[],
        tokens: 16,
        grid: false,
        once: false,
        fuses: &[],
        block: Block { size: 16, fields: &[], cpp: "" },
        bodies: &[],
        streams: &[],
        reference: nothing,
        phases: 1,
        file: "mpk-runtime/src/plan/testing.rs",
    }
}

const fn collective(task: TaskDef, what: Collective) -> TaskDef {
    TaskDef { signature: Signature { collective: Some(what), ..task.signature }, ..task }
}

/// Tiles of `width` of the symbol `axis`.
macro_rules! tiles {
    ($axis:literal / $width:literal) => {
        Tiles { axis: Sym($axis), width: Num($width) }
    };
}

pub(crate) const EMBEDDING: TaskDef = task(
    "embedding",
    &[
        port("rows", PortKind::Rows, BF16, &[]),
        port("w", PortKind::Weight, BF16, &[Sym("V"), Sym("H")]),
        port("y", PortKind::Out, BF16, &[Sym("T"), Sym("H")]),
    ],
    tiles!("H" / 512),
);

pub(crate) const RMSNORM: TaskDef = task(
    "rmsnorm",
    &[
        port("x", PortKind::In, BF16, &[Sym("T"), Sym("H")]),
        port("w", PortKind::Weight, BF16, &[Sym("H")]),
        param("eps", ParamType::F32),
        port("y", PortKind::Out, BF16, &[Sym("T"), Sym("H")]),
    ],
    tiles!("T" / 1),
);

pub(crate) const LINEAR: TaskDef = TaskDef {
    streams: &["w"],
    scratch: &[Region { name: "part", elem: Elem::F32, len: 8 * 16 * 16, align: 1024 }],
    ..task(
        "linear_v3",
        &[
            port("x", PortKind::In, BF16, &[Sym("T"), Sym("K")]),
            port("w", PortKind::Weight, ElemSpec::Var("W"), &[Sym("N"), Sym("K")]),
            optional("b", &[Sym("N")]),
            port("y", PortKind::Out, ElemSpec::Var("Y"), &[Sym("T"), Sym("N")]),
        ],
        tiles!("N" / 16),
    )
};

const HEADS_OF_KV: Expr = Div(&Sym("KV"), &Sym("head_dim"));
const PART: Expr = Mul(&Num(8), &Add(&Sym("Q"), &Mul(&Num(2), &Div(&Sym("Q"), &Sym("head_dim")))));

pub(crate) const ATTENTION: TaskDef = TaskDef {
    scratch: &[
        Region { name: "scores", elem: Elem::F32, len: 1024, align: 16 },
        Region { name: "acc", elem: Elem::F32, len: 2048, align: 128 },
    ],
    ..task(
        "attention_partial",
        &[
            port("qkv", PortKind::In, BF16, &[Sym("T"), Add(&Add(&Sym("Q"), &Sym("KV")), &Sym("KV"))]),
            optional("q_norm", &[Sym("head_dim")]),
            optional("k_norm", &[Sym("head_dim")]),
            port(
                "kv",
                PortKind::State { monotonic: false },
                BF16,
                &[Div(&Sym("P"), &Num(64)), Mul(&Num(2), &HEADS_OF_KV), Num(64), Sym("head_dim")],
            ),
            port("rows", PortKind::Rows, BF16, &[]),
            param("head_dim", ParamType::U32),
            param("rope", ParamType::Rope),
            param("eps", ParamType::F32),
            port("part", PortKind::Out, ElemSpec::Is(Elem::F32), &[Sym("T"), PART]),
        ],
        Tiles { axis: Mul(&Num(8), &HEADS_OF_KV), width: Num(1) },
    )
};

pub(crate) const MERGE: TaskDef = task(
    "attention_merge",
    &[
        port("part", PortKind::In, ElemSpec::Is(Elem::F32), &[Sym("T"), PART]),
        // No expression can be solved for `Q`: the model gives it.
        param("Q", ParamType::U32),
        param("head_dim", ParamType::U32),
        port("y", PortKind::Out, BF16, &[Sym("T"), Sym("Q")]),
    ],
    tiles!("Q" / 64),
);

pub(crate) const SILU: TaskDef = task(
    "silu_mul",
    &[port("x", PortKind::In, BF16, &[Sym("T"), Mul(&Num(2), &Sym("I"))]), port("y", PortKind::Out, BF16, &[Sym("T"), Sym("I")])],
    tiles!("I" / 64),
);

pub(crate) const ADD: TaskDef = task(
    "add",
    &[
        port("x", PortKind::In, ElemSpec::Var("X"), &[Sym("T"), Sym("H")]),
        port("r", PortKind::In, BF16, &[Sym("T"), Sym("H")]),
        port("y", PortKind::Out, BF16, &[Sym("T"), Sym("H")]),
    ],
    tiles!("H" / 512),
);

pub(crate) const ALL_REDUCE: TaskDef = collective(
    task(
        "all_reduce",
        &[
            port("x", PortKind::In, ElemSpec::Var("X"), &[Sym("T"), Sym("H")]),
            port("y", PortKind::Out, ElemSpec::Var("X"), &[Sym("T"), Sym("H")]),
        ],
        tiles!("H" / 64),
    ),
    Collective::Sum,
);

pub(crate) const ARGMAX_PARTIAL: TaskDef = task(
    "argmax_partial",
    &[
        port("x", PortKind::In, ElemSpec::Is(Elem::F32), &[Sym("T"), Sym("V")]),
        port("y", PortKind::Out, ElemSpec::Is(Elem::U64), &[Sym("T"), DivCeil(&Sym("V"), &Num(512))]),
    ],
    tiles!("V" / 512),
);

pub(crate) const ARGMAX_REDUCE: TaskDef = collective(
    task(
        "argmax_reduce",
        &[
            port("x", PortKind::In, ElemSpec::Is(Elem::U64), &[Sym("T"), Sym("C")]),
            port("y", PortKind::Out, ElemSpec::Is(Elem::U32), &[Sym("T"), Num(1)]),
        ],
        tiles!("T" / 1),
    ),
    Collective::Gather,
);

/// A grid-wide task that copies.
pub(crate) const GRID: TaskDef = TaskDef {
    grid: true,
    phases: 2,
    ..task(
        "grid_copy",
        &[port("x", PortKind::In, BF16, &[Sym("T"), Sym("H")]), port("y", PortKind::Out, BF16, &[Sym("T"), Sym("H")])],
        tiles!("H" / 64),
    )
};

/// The sizes of a decoder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub layers: usize,
    pub hidden: usize,
    pub inner: usize,
    pub vocab: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    pub ranks: usize,
    /// Whether a grid-wide task stands after each layer.
    pub grid: bool,
}

pub(crate) const SMALL: Size =
    Size { layers: 3, hidden: 256, inner: 640, vocab: 1300, heads: 4, kv_heads: 2, head_dim: 64, ranks: 1, grid: false };
pub(crate) const TWO_RANKS: Size = Size { ranks: 2, vocab: 1312, ..SMALL };
pub(crate) const QWEN3_8B: Size =
    Size { layers: 36, hidden: 4096, inner: 12288, vocab: 151_936, heads: 32, kv_heads: 8, head_dim: 128, ranks: 1, grid: false };

pub(crate) fn options(workers: usize, rows: usize) -> Options {
    Options { workers, rows, slots: rows, context: 4096, shared_memory: 227 * 1024 }
}

pub(crate) fn plan(size: Size, workers: usize, rows: usize) -> Plan {
    Plan::new(graph(size, None), options(workers, rows)).unwrap()
}

struct Model<'a>(&'a mut Builder);

impl Model<'_> {
    fn op(&mut self, task: &'static TaskDef, x: Option<Value>, named: Vec<(&'static str, Input)>, shard: Shard) -> Value {
        let stages: &'static [&'static TaskDef] = Box::leak(Box::new([task]));
        self.0.op(OpDef { name: task.name, stages }, OpCall { chained: x, named, shard }).unwrap()
    }

    fn norm(&mut self, x: Value, name: String, hidden: usize) -> Value {
        let w = Input::Weight(WeightExpr::module(name, vec![hidden]));
        self.op(&RMSNORM, Some(x), vec![("", w), ("eps", Input::F32(1e-6))], Shard::None)
    }

    fn linear(&mut self, x: Value, weight: WeightExpr, shard: Shard) -> Value {
        let elem = if shard == Shard::Row { Elem::F32 } else { Elem::Bf16 };
        self.op(&LINEAR, Some(x), vec![("", Input::Weight(weight)), ("y", elem.into())], shard)
    }
}

/// A graph of the decoder, or of a slice of its layers.
pub(crate) fn graph(size: Size, layers: Option<std::ops::Range<usize>>) -> Graph {
    build(size, layers).unwrap()
}

fn build(size: Size, layers: Option<std::ops::Range<usize>>) -> Result<Graph, GraphError> {
    let Size { hidden: h, inner, vocab, heads, kv_heads, head_dim: d, ranks, .. } = size;
    let mut builder = Builder::new("Small", ranks, layers, false);
    let range = builder.layers(0..size.layers)?;
    let mut m = Model(&mut builder);
    let w = |name: String, shape: [usize; 2]| WeightExpr::module(name, shape.to_vec());
    let mut x = m.op(&EMBEDDING, None, vec![("", Input::Weight(w("embed".into(), [vocab, h])))], Shard::None);
    for i in range {
        m.0.set_layer(Some(i));
        let n = m.norm(x, format!("l{i}.norm1"), h);
        let qkv = WeightExpr::Stack(vec![
            w(format!("l{i}.q"), [heads * d, h]),
            w(format!("l{i}.k"), [kv_heads * d, h]),
            w(format!("l{i}.v"), [kv_heads * d, h]),
        ]);
        let qkv = m.linear(n, qkv, Shard::Column);
        let rope = Rope { theta: 10_000.0, head_dim: d, scaling: crate::rope::RopeScaling::Default };
        let named = vec![("head_dim", Input::from(d)), ("rope", Input::Rope(rope)), ("eps", Input::F32(1e-6))];
        let part = m.op(&ATTENTION, Some(qkv), named, Shard::None);
        let named = vec![("Q", Input::from(heads * d / ranks)), ("head_dim", Input::from(d))];
        let a = m.op(&MERGE, Some(part), named, Shard::None);
        let o = m.linear(a, w(format!("l{i}.o"), [h, heads * d]), Shard::Row);
        let o = m.op(&ALL_REDUCE, Some(o), vec![], Shard::None);
        x = m.op(&ADD, Some(o), vec![("r", Input::Value(x))], Shard::None);
        let n = m.norm(x, format!("l{i}.norm2"), h);
        let gate_up = WeightExpr::Stack(vec![w(format!("l{i}.gate"), [inner, h]), w(format!("l{i}.up"), [inner, h])]);
        let gate_up = m.linear(n, gate_up, Shard::Column);
        let s = m.op(&SILU, Some(gate_up), vec![], Shard::None);
        let down = m.linear(s, w(format!("l{i}.down"), [h, inner]), Shard::Row);
        let down = m.op(&ALL_REDUCE, Some(down), vec![], Shard::None);
        x = m.op(&ADD, Some(down), vec![("r", Input::Value(x))], Shard::None);
        if size.grid {
            x = m.op(&GRID, Some(x), vec![], Shard::None);
        }
    }
    m.0.set_layer(None);
    let n = m.norm(x, "norm".into(), h);
    let head = ("", Input::Weight(w("head".into(), [vocab, h])));
    let logits = m.op(&LINEAR, Some(n), vec![head, ("y", Input::Elem(Elem::F32))], Shard::Column);
    let argmax = OpDef { name: "argmax", stages: &[&ARGMAX_PARTIAL, &ARGMAX_REDUCE] };
    let token = m.0.op(argmax, OpCall { chained: Some(logits), named: vec![], shard: Shard::None })?;
    Ok(builder.finish(token))
}
