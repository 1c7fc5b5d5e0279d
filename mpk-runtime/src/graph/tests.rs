//! What a builder refuses, and which chains a peephole replaces.

use super::*;
use crate::shape::{Bindings, Expr, Port, PortKind};
use crate::task::{Op, OpDef, Task};
use crate::verify::verify;
use crate::{mpk_task, plan};

#[mpk_task(roles(consumer), tiles = N / 16)]
fn source(N: Param<u32>, y: Out<[Y; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! { y.set(0, 0, 0.0); }
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn linear(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[Y; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0)); }
    reference! { y.set(0, 0, x.row(0)[0]); }
}

#[mpk_task(roles(consumer), tiles = H / 16, additive(x, r))]
fn add(x: In<[X; (T, H)]>, r: In<[R; (T, H)]>, y: Out<[R; (T, H)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0) + r.at(0, 0)); }
    reference! { y.set(0, 0, x.row(0)[0] + r.row(0)[0]); }
}

#[mpk_task(roles(consumer), tiles = N / 16, fuses(linear -> add))]
fn linear_add(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, r: In<[f32; (T, N)]>, y: Out<[f32; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0) + r.at(0, 0)); }
    reference! { y.set(0, 0, x.row(0)[0] + r.row(0)[0]); }
}

#[mpk_task(roles(consumer), tiles = T)]
fn norm(x: In<[bf16; (T, H)]>, w: Weight<[W; (H,)]>, y: Out<[bf16; (T, H)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0)); }
    reference! { y.set(0, 0, x.row(0)[0]); }
}

#[mpk_task(roles(consumer), tiles = H / 16, collective = sum)]
fn sum(x: In<[X; (T, H)]>, y: Out<[X; (T, H)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0)); }
    reference! { y.set(0, 0, x.row(0)[0]); }
}

#[mpk_task(roles(consumer), once, tiles = N / 16)]
fn init(N: Param<u32>, y: Out<[u64; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0ull); }
    reference! { y.set_word(0, 0, 0); }
}

#[mpk_task(roles(consumer), tiles = H / 16)]
fn counts(x: In<[bf16; (T, H)]>, seen: State<[u64; (16,)]>, y: Out<[bf16; (T, H)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0)); }
    reference! { seen.set_word(0, x.rows() as u64 + y.rows().len() as u64); }
}

struct Model(Builder);

impl Model {
    fn new(ranks: usize) -> Model {
        Model(Builder::new("test", ranks, None, false))
    }

    fn op(&mut self, op: OpDef, x: Option<Value>, named: Vec<(&'static str, Input)>, shard: Shard) -> Result<Value, GraphError> {
        self.0.op(op, OpCall { chained: x, named, shard })
    }

    /// A value of 64 features on each rank.
    fn source(&mut self, elem: Elem, place: Place) -> Value {
        let value = self.op(source::DEF, None, vec![("N", Input::Whole(64)), ("y", elem.into())], Shard::None).unwrap();
        self.0.cast(value, place, &[64]);
        value
    }

    fn code(result: Result<Value, GraphError>) -> String {
        result.unwrap_err().to_string()
    }
}

fn weight(shape: &[usize]) -> (&'static str, Input) {
    ("", Input::Weight(WeightExpr::module("w".into(), shape.to_vec())))
}

#[test]
fn what_every_rank_has_in_full_is_not_added_to_a_partial_value() {
    let mut m = Model::new(2);
    let (x, r) = (m.source(Elem::Bf16, Place::Sharded), m.source(Elem::F32, Place::Replicated));
    let text = Model::code(m.op(linear_add::DEF, Some(x), vec![weight(&[64, 128]), ("r", Input::Value(r))], Shard::Row));
    assert!(text.contains("MPK-E0152: source gives a replicated value, linear_add with `shard = row`"), "{text}");
    assert!(m.op(linear::DEF, Some(x), vec![weight(&[64, 128]), ("y", Elem::F32.into())], Shard::Row).is_ok());
}

#[test]
fn what_the_ranks_add_up_is_not_rounded_first() {
    let mut m = Model::new(2);
    let x = m.source(Elem::Bf16, Place::Sharded);
    let text = Model::code(m.op(linear::DEF, Some(x), vec![weight(&[64, 128])], Shard::Row));
    assert!(text.contains("MPK-E0150: linear gives a value that is partial over all ranks in bf16"), "{text}");
}

#[test]
fn what_sums_over_no_inputs_of_a_weight_is_not_split_by_them() {
    let mut m = Model::new(2);
    let x = m.source(Elem::Bf16, Place::Replicated);
    let text = Model::code(m.op(norm::DEF, Some(x), vec![weight(&[64])], Shard::Row));
    assert!(text.contains("MPK-E0152: norm takes no `shard = row`"), "{text}");
    let text = Model::code(m.op(source::DEF, None, vec![("N", Input::Whole(64))], Shard::Row));
    assert!(text.contains("MPK-E0152: source takes no `shard = row`"), "{text}");
}

/// `linear -> add`, where the linear gives `elem` and is split by `shard`, as is then what is added.
fn chain(ranks: usize, elem: Elem, shard: Shard, add: OpDef) -> Graph {
    let mut m = Model::new(ranks);
    let split = shard == Shard::Row;
    let x = m.source(Elem::Bf16, Place::Replicated);
    let x = if split { m.op(linear::DEF, Some(x), vec![weight(&[128, 64])], Shard::Column).unwrap() } else { x };
    let linear = |m: &mut Model, name: &str| {
        let w = WeightExpr::module(name.into(), vec![64, if split { 128 } else { 64 }]);
        m.op(linear::DEF, Some(x), vec![("", Input::Weight(w)), ("y", elem.into())], shard).unwrap()
    };
    let r = if split { linear(&mut m, "r") } else { m.source(elem, Place::Replicated) };
    let y = linear(&mut m, "y");
    let y = m.op(add, Some(y), vec![("r", Input::Value(r))], Shard::None).unwrap();
    let y = if split { m.op(sum::DEF, Some(y), vec![], Shard::None).unwrap() } else { y };
    m.0.finish(y)
}

fn fused(graph: &Graph) -> Vec<&'static str> {
    let fused = graph.fused(&[&linear_add::TASK]).unwrap();
    fused.ops.iter().map(|node| node.task.name).filter(|name| *name != "source").collect()
}

#[test]
fn a_chain_that_a_task_can_stand_for_is_replaced() {
    assert_eq!(fused(&chain(1, Elem::F32, Shard::None, add::DEF)), ["linear_add"]);
}

#[test]
fn a_chain_that_the_task_does_not_take_stays() {
    assert_eq!(fused(&chain(1, Elem::Bf16, Shard::None, add::DEF)), ["linear", "add"]);
    // The sum of two partial values.
    assert_eq!(fused(&chain(2, Elem::F32, Shard::Row, add::DEF)), ["linear", "linear", "linear", "add", "sum"]);
}

const OTHER: TaskDef = TaskDef { file: "elsewhere/src/lib.rs", ..add::TASK };

#[test]
fn an_op_of_another_crate_is_not_fused_for_its_name() {
    let graph = chain(1, Elem::F32, Shard::None, OpDef { name: "add", stages: &[&OTHER] });
    assert_eq!(fused(&graph), ["linear", "add"]);
}

#[test]
fn two_tasks_of_one_name_are_refused_by_the_planner() {
    let mut m = Model::new(1);
    let (x, r) = (m.source(Elem::F32, Place::Replicated), m.source(Elem::F32, Place::Replicated));
    let y = m.op(add::DEF, Some(x), vec![("r", Input::Value(r))], Shard::None).unwrap();
    let y = m.op(OpDef { name: "add", stages: &[&OTHER] }, Some(y), vec![("r", Input::Value(r))], Shard::None).unwrap();
    let options = plan::Options { workers: 2, rows: 1, slots: 1, context: 64, shared_memory: 227 * 1024 };
    let text = plan::Plan::new(m.0.finish(y), options).unwrap_err().to_string();
    assert!(text.contains("elsewhere/src/lib.rs") && text.contains("mpk-runtime/src/graph/tests.rs"), "{text}");
}

#[test]
fn a_state_has_one_holder() {
    let mut m = Model::new(1);
    let x = m.source(Elem::Bf16, Place::Replicated);
    let seen = m.op(init::DEF, None, vec![("N", Input::Whole(16))], Shard::None).unwrap();
    m.op(counts::DEF, Some(x), vec![("seen", Input::Value(seen))], Shard::None).unwrap();
    let text = Model::code(m.op(counts::DEF, Some(x), vec![("seen", Input::Value(seen))], Shard::None));
    assert!(text.contains("MPK-E0121: a state has one holder"), "{text}");
}

#[test]
fn the_verifier_does_not_rely_on_the_builder_for_that() {
    let mut m = Model::new(1);
    let x = m.source(Elem::Bf16, Place::Replicated);
    let [a, b] = [(); 2].map(|()| m.op(init::DEF, None, vec![("N", Input::Whole(16))], Shard::None).unwrap());
    let [_, y] = [a, b].map(|v| m.op(counts::DEF, Some(x), vec![("seen", Input::Value(v))], Shard::None).unwrap());
    let options = plan::Options { workers: 2, rows: 1, slots: 1, context: 64, shared_memory: 227 * 1024 };
    let mut plan = plan::Plan::new(m.0.finish(y), options).unwrap();
    verify(&plan).unwrap();
    let last = plan.graph.ops.len() - 1;
    plan.graph.ops[last].args[1] = NodeArg::Held(a.0);
    plan.states[1].held = Some(a.0);
    let violations = verify(&plan).unwrap_err();
    assert!(
        violations.iter().any(|v| v.text.contains("writes its state in every step, and another port reads it")),
        "{violations:#?}"
    );
}

#[test]
fn a_number_of_more_than_32_bits_is_an_error() {
    let mut m = Model::new(1);
    let text = Model::code(m.op(source::DEF, None, vec![("N", Input::from((1_usize << 32) + 64))], Shard::None));
    assert!(text.contains("`N` is 4294967360\nhelp: "), "{text}");
}

#[test]
fn a_symbol_that_finds_no_room_is_an_error() {
    const NAMES: [&str; 17] = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P", "Q"];
    assert!(!Bindings::of(&NAMES.map(|name| (name, 1))[..16]).is_full());
    let before = Bindings::of(&NAMES.map(|name| (name, 1)));
    assert!(before.is_full());
    const Y: Port =
        Port { name: "y", kind: PortKind::Out, shape: &[Expr::Sym("A"), Expr::Num(1)], ..source::TASK.signature.ports[1] };
    let signature = crate::shape::Signature { ports: &[Y], ..source::TASK.signature };
    let args = crate::shape::Args { from: "", chained: None, named: &[], shard: Shard::None };
    let error = crate::shape::infer_task(&signature, &args, true, false, before).error.unwrap();
    assert!(error.as_str().contains("has more than 16 symbols"), "{error:?}");
}
