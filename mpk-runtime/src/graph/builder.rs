//! Building a graph: what the code that `model!` generates calls.

use std::collections::HashMap;
use std::ops::Range;

use super::error::{config_error, shape_error};
use super::{Graph, GraphError, Input, Node, NodeArg, OpCall, Tensor, TensorId, Value, WeightExpr};
use crate::shape::{
    Arg, Args, Bindings, Collective, Dim, Edge, Elem, Inference, Named, ParamType, Parts, Place, PortKind, Shard, Signature,
    infer_task,
};
use crate::task::{OpDef, TaskDef};

/// Where a task stands in its op.
struct Stage {
    last: bool,
    /// An earlier task took the weight that is written without a name.
    weight_taken: bool,
    /// The symbols of the task before.
    bindings: Bindings,
}

/// Builds the graph of one rank.
#[derive(Debug)]
pub struct Builder {
    graph: Graph,
    wanted: Option<Range<usize>>,
    layer: Option<usize>,
    tie: bool,
    /// The weights so far by the first name in them.
    by_name: HashMap<String, Vec<usize>>,
}

impl Builder {
    /// A builder for `ranks` ranks; `layers` cuts the model to a slice of its layers, `tie` is the config's
    /// [`tie_word_embeddings`](super::ModelConfig::tie_word_embeddings).
    pub fn new(model: &str, ranks: usize, layers: Option<Range<usize>>, tie: bool) -> Builder {
        let graph = Graph {
            model: model.to_string(),
            ranks: ranks.max(1),
            layers: 0..0,
            ops: Vec::new(),
            tensors: Vec::new(),
            weights: Vec::new(),
            extras: Vec::new(),
            ties: Vec::new(),
            output: 0,
        };
        Builder { graph, wanted: layers, layer: None, tie, by_name: HashMap::new() }
    }

    /// A builder for the graph of the same model, ranks and layers as `graph`.
    pub(super) fn again(graph: &Graph) -> Builder {
        let mut builder = Builder::new(&graph.model, graph.ranks, None, false);
        builder.graph.layers = graph.layers.clone();
        builder.graph.extras = graph.extras.clone();
        builder.graph.ties = graph.ties.clone();
        builder
    }

    /// The layers to build out of `all`.
    ///
    /// # Errors
    /// The slice asked for lies outside of the model.
    pub fn layers(&mut self, all: Range<usize>) -> Result<Range<usize>, GraphError> {
        let layers = match &self.wanted {
            None => all,
            Some(wanted) if wanted.start >= all.start && wanted.end <= all.end && wanted.start < wanted.end => wanted.clone(),
            Some(wanted) => {
                return Err(GraphError::Config {
                    op: self.graph.model.clone(),
                    message: format!("layers {wanted:?} are asked for, the model has {all:?}\nhelp: ask for a range within them"),
                });
            }
        };
        self.graph.layers = layers.clone();
        Ok(layers)
    }

    /// Marks the ops that follow as part of a layer.
    pub fn set_layer(&mut self, layer: Option<usize>) {
        self.layer = layer;
    }

    /// Names a tensor of the checkpoint that the model knows and does not use.
    pub fn extra(&mut self, name: String) {
        self.graph.extras.push(name);
    }

    /// `tied(a, b)`: `b` if the config ties them, else `a`.
    pub fn tied(&self, a: WeightExpr, b: WeightExpr) -> WeightExpr {
        if self.tie { WeightExpr::Tied(Box::new(a), Box::new(b)) } else { a }
    }

    /// Adds an op and gives its first output.
    ///
    /// # Errors
    /// See [`GraphError`].
    pub fn op(&mut self, op: OpDef, call: OpCall) -> Result<Value, GraphError> {
        let outs = self.ops(op, call)?;
        outs.first().copied().ok_or_else(|| shape_error(op.name, "it gives no value".into()))
    }

    /// Adds an op that gives `N` values.
    ///
    /// # Errors
    /// See [`GraphError`].
    pub fn outs<const N: usize>(&mut self, op: OpDef, call: OpCall) -> Result<[Value; N], GraphError> {
        let outs = self.ops(op, call)?;
        let given = outs.len();
        outs.try_into().map_err(|_| shape_error(op.name, format!("it gives {given} values, the model names {N}")))
    }

    /// Adds an op and gives all outputs of its last task.
    ///
    /// # Errors
    /// See [`GraphError`].
    pub fn ops(&mut self, op: OpDef, call: OpCall) -> Result<Vec<Value>, GraphError> {
        self.chain(op, call, Bindings::NEW)
    }

    /// Adds the tasks of an op, which start from these symbols.
    fn chain(&mut self, op: OpDef, call: OpCall, mut bindings: Bindings) -> Result<Vec<Value>, GraphError> {
        // On one rank nothing is split: every value is complete, which `model!` has checked for any number of ranks.
        let shard = if self.graph.ranks == 1 { Shard::None } else { call.shard };
        let mut call = OpCall { named: self.shard_weights(op, call.named, shard)?, shard, ..call };
        let mut outs = Vec::new();
        let mut weight_taken = false;
        for (i, task) in op.stages.iter().enumerate() {
            let stage = Stage { last: i + 1 == op.stages.len(), weight_taken, bindings };
            (outs, bindings) = self.task(op, task, &call, stage)?;
            weight_taken |= task.signature.ports.iter().any(|p| p.kind == PortKind::Weight);
            call.chained = outs.first().copied();
        }
        Ok(outs)
    }

    /// Says how a value lies over the ranks, and in which parts its features come: for checks, whose inputs come from no model.
    pub(crate) fn cast(&mut self, value: Value, place: Place, parts: &[usize]) {
        let tensor = &mut self.graph.tensors[value.0];
        (tensor.place, tensor.parts) = (place, parts.to_vec());
    }

    /// Adds an op by itself that a model has inside of a composite; `before` are the symbols that the tasks before it bind there.
    ///
    /// # Errors
    /// See [`GraphError`].
    pub fn stage(&mut self, op: OpDef, call: OpCall, before: &[(&'static str, usize)]) -> Result<Vec<Value>, GraphError> {
        self.chain(op, call, Bindings::of(before))
    }

    /// Adds one task whose weights are already split, as a peephole does; its outputs.
    pub(super) fn task_again(
        &mut self,
        op: &'static str,
        task: &'static TaskDef,
        layer: Option<usize>,
        call: &OpCall,
        before: &[(&'static str, usize)],
    ) -> Result<Vec<Value>, GraphError> {
        self.layer = layer;
        let stage = Stage { last: true, weight_taken: false, bindings: Bindings::of(before) };
        Ok(self.task(OpDef { name: op, stages: &[] }, task, call, stage)?.0)
    }

    /// A builder that goes on from `graph`: its values are the tensors there.
    pub(super) fn beyond(graph: &Graph) -> Builder {
        Builder { graph: graph.clone(), ..Builder::again(graph) }
    }

    /// The values that a task would give, as [`Builder::task_again`] adds it; none if it does not take these arguments.
    pub(super) fn would_give(&self, task: &TaskDef, call: &OpCall, before: &[(&'static str, usize)]) -> Option<Vec<Edge>> {
        let stage = Stage { last: true, weight_taken: false, bindings: Bindings::of(before) };
        let inferred = self.infer(&task.signature, call, &stage);
        (inferred.error.is_none() && !task.signature.broken).then(|| inferred.outs[..inferred.len].to_vec())
    }

    /// The finished graph; `output` is what the model gives.
    pub fn finish(mut self, output: Value) -> Graph {
        self.graph.output = output.0;
        self.graph
    }

    fn shard_weights(
        &self,
        op: OpDef,
        named: Vec<(&'static str, Input)>,
        shard: Shard,
    ) -> Result<Vec<(&'static str, Input)>, GraphError> {
        if shard == Shard::None {
            return Ok(named);
        }
        named
            .into_iter()
            .map(|(port, input)| {
                let Input::Weight(weight) = input else { return Ok((port, input)) };
                self.shard_weight(op, weight, shard).map(|w| (port, Input::Weight(w)))
            })
            .collect()
    }

    fn shard_weight(&self, op: OpDef, weight: WeightExpr, shard: Shard) -> Result<WeightExpr, GraphError> {
        let ranks = self.graph.ranks;
        let shape = weight.shape();
        if shard == Shard::Row && shape.len() < 2 {
            return Ok(weight);
        }
        let split = match shard {
            Shard::Row => shape.last().copied().into_iter().collect(),
            _ => weight.parts(),
        };
        for size in split {
            if size % ranks != 0 {
                let what = weight.sources().first().map_or(String::new(), |s| s.names[0].clone());
                return Err(GraphError::Ranks { op: op.name.into(), what, size, ranks });
            }
        }
        Ok(WeightExpr::Sharded { of: Box::new(weight), shard, ranks })
    }

    /// What the checks know of a value.
    pub(super) fn edge(&self, value: Value) -> Edge {
        let tensor = &self.graph.tensors[value.0];
        let parts: Vec<Dim> = tensor.parts.iter().map(|p| Dim::num(*p as i64)).collect();
        let rows = Dim::field("tokens").mul(Dim::num(tensor.rows as i64));
        Edge { rows, parts: Parts::of(&parts), elem: Some(tensor.elem), place: tensor.place }
    }

    fn task(
        &mut self,
        op: OpDef,
        task: &'static TaskDef,
        call: &OpCall,
        stage: Stage,
    ) -> Result<(Vec<Value>, Bindings), GraphError> {
        let sig = &task.signature;
        if sig.broken {
            return Err(shape_error(op.name, "MPK-E0160: the task has errors of its own".into()));
        }
        // On one rank a sum is the value itself.
        if sig.collective == Some(Collective::Sum)
            && self.graph.ranks == 1
            && let Some(value) = call.chained
        {
            return Ok((vec![value], stage.bindings));
        }
        for (port, input) in &call.named {
            if let Input::Whole(n) = input
                && u32::try_from(*n).is_err()
            {
                let message = format!("`{port}` is {n}\nhelp: whole numbers are at most {}: check the config", u32::MAX);
                return Err(config_error(op.name, message));
            }
        }
        let inferred = self.infer(sig, call, &stage);
        if let Some(error) = inferred.error {
            return Err(shape_error(op.name, error.as_str().into()));
        }
        let mut dims = Vec::new();
        for (symbol, parts) in inferred.bindings.iter() {
            match parts.total().value().map(usize::try_from) {
                Some(Ok(n)) => dims.push((symbol, n)),
                Some(Err(_)) => {
                    return Err(config_error(
                        op.name,
                        format!("`{symbol}` is negative\nhelp: check the fields of the config that it is made of"),
                    ));
                }
                // Rows, and parameters that are no numbers.
                None => {}
            }
        }
        let id = self.graph.ops.len();
        let mut node = Node { task, op: op.name, layer: self.layer, args: Vec::new(), dims, shard: call.shard };
        let mut chained = call.chained;
        let mut positional = stage.weight_taken;
        let mut outs = Vec::new();
        for port in sig.ports {
            let given = call.named.iter().find(|(name, _)| *name == port.name).map(|(_, input)| input);
            let arg = match (port.kind, given) {
                (PortKind::In, Some(Input::Value(v))) => NodeArg::In(v.0),
                (PortKind::In, _) => chained.take().map_or(NodeArg::Absent, |v| NodeArg::In(v.0)),
                (PortKind::Out, _) => {
                    let edge = inferred.outs[outs.len()];
                    let tensor = self.new_tensor(op, id, edge)?;
                    outs.push(Value(tensor));
                    NodeArg::Out(tensor)
                }
                (PortKind::Weight, Some(Input::Weight(w))) => self.weight(w),
                (PortKind::Weight, _) if !positional && !port.optional => {
                    positional = true;
                    match call.named.iter().find(|(name, _)| name.is_empty()) {
                        Some((_, Input::Weight(w))) => self.weight(w),
                        _ => NodeArg::Absent,
                    }
                }
                (PortKind::State { .. }, Some(Input::Value(v))) => {
                    self.held(op, port.name, inferred.bindings.elem(port.elem), *v)?
                }
                (PortKind::State { .. }, _) => NodeArg::State,
                (PortKind::Rows, _) => NodeArg::Rows,
                (PortKind::TaskOffset, _) => NodeArg::Offset,
                (PortKind::Param(ParamType::F32), Some(Input::F32(v))) => NodeArg::F32(*v),
                // A whole number of the config or of the model stands for itself.
                (PortKind::Param(ParamType::F32), Some(Input::Whole(v))) => NodeArg::F32(*v as f32),
                (PortKind::Param(ParamType::U32), Some(Input::Whole(v))) => NodeArg::U32(*v as u32),
                (PortKind::Param(ParamType::Rope), Some(Input::Rope(v))) => NodeArg::Rope(v.clone()),
                (PortKind::Param(ty), Some(_)) => {
                    return Err(config_error(
                        op.name,
                        format!(
                            "parameter `{}` is of type {ty:?}, the model gives another\nhelp: give it a value of its type",
                            port.name
                        ),
                    ));
                }
                _ => NodeArg::Absent,
            };
            node.args.push(arg);
        }
        if sig.collective.is_some() && self.graph.ranks > 1 {
            for tensor in node.reads() {
                self.graph.tensors[tensor].collected = sig.collective;
            }
        }
        self.check_holder(op, &node)?;
        self.graph.ops.push(node);
        Ok((outs, inferred.bindings))
    }

    /// A value that is the state of an op is written by it in every step: nobody else may touch it.
    fn check_holder(&self, op: OpDef, node: &Node) -> Result<(), GraphError> {
        let once = |t: &TensorId| self.graph.ops.get(self.graph.tensors[*t].writer).is_some_and(|writer| writer.task.once);
        let tensors: Vec<TensorId> = node.reads().filter(once).collect();
        for tensor in tensors {
            let users: Vec<&Node> = self.graph.ops.iter().chain([node]).filter(|n| n.reads().any(|t| t == tensor)).collect();
            let uses = || {
                users
                    .iter()
                    .flat_map(|n| n.args.iter())
                    .filter(|a| matches!(a, NodeArg::In(t) | NodeArg::Held(t) if *t == tensor))
            };
            if uses().count() > 1 && uses().any(|arg| *arg == NodeArg::Held(tensor)) {
                let what = format!(
                    "MPK-E0121: a state has one holder: the value of {} is the state of one op and is also read by {}\non the GPU both would touch it at once\nhelp: give each op a `tensor_init` of its own",
                    self.writer_name(Value(tensor)),
                    users[0].label()
                );
                return Err(shape_error(op.name, what));
            }
        }
        Ok(())
    }

    /// What is known of a task with these arguments.
    fn infer(&self, sig: &Signature, call: &OpCall, stage: &Stage) -> Inference {
        let from = call.chained.map_or(String::new(), |v| self.writer_name(v));
        let shapes: Vec<Vec<Vec<Dim>>> = call.named.iter().map(|(_, input)| weight_dims(input)).collect();
        let slices: Vec<Vec<&[Dim]>> = shapes.iter().map(|dims| dims.iter().map(Vec::as_slice).collect()).collect();
        let names: Vec<String> = call
            .named
            .iter()
            .map(|(_, input)| if let Input::Value(v) = input { self.writer_name(*v) } else { String::new() })
            .collect();
        let named: Vec<Named> = call
            .named
            .iter()
            .enumerate()
            .map(|(i, (port, input))| Named {
                port,
                arg: match input {
                    Input::Value(v) => Arg::Edge(&names[i], self.edge(*v)),
                    Input::Weight(_) => Arg::Weight(&slices[i]),
                    Input::Whole(n) => Arg::Param(i64::try_from(*n).map_or(Dim::OPAQUE, Dim::num)),
                    Input::F32(_) | Input::Rope(_) => Arg::Param(Dim::OPAQUE),
                    Input::Elem(elem) => Arg::Elem(*elem),
                },
            })
            .collect();
        let args = Args { from: &from, chained: call.chained.map(|v| self.edge(v)), named: &named, shard: call.shard };
        infer_task(sig, &args, stage.last, stage.weight_taken, stage.bindings)
    }

    /// A value as the state of a port: it must be one that is written once.
    fn held(&self, op: OpDef, port: &str, elem: Option<Elem>, value: Value) -> Result<NodeArg, GraphError> {
        let tensor = &self.graph.tensors[value.0];
        let writer = self.writer_name(value);
        let once = self.graph.ops.get(tensor.writer).is_some_and(|node| node.task.once);
        let what = match elem {
            _ if !once => format!("{writer} writes in every step\non the GPU a wait would see counts of the past again"),
            Some(elem) if elem != tensor.elem => {
                format!(
                    "{writer} gives {}, the state is of {}\non the GPU the bits would be read as another type",
                    tensor.elem.name(),
                    elem.name()
                )
            }
            _ => return Ok(NodeArg::Held(value.0)),
        };
        Err(shape_error(
            op.name,
            format!(
                "MPK-E0121: `{port}` takes a state that is initialised once: {what}\nhelp: give it the value of `tensor_init`"
            ),
        ))
    }

    fn weight(&mut self, weight: &WeightExpr) -> NodeArg {
        let weight = weight.clone().untied(&mut self.graph.ties);
        // Equal weights have equal first names, and few weights share one.
        let name = weight.first_name();
        let same = self.by_name.entry(name.to_string()).or_default();
        let at = same.iter().copied().find(|w| self.graph.weights[*w] == weight);
        NodeArg::Weight(at.unwrap_or_else(|| {
            self.graph.weights.push(weight);
            same.push(self.graph.weights.len() - 1);
            self.graph.weights.len() - 1
        }))
    }

    fn new_tensor(&mut self, op: OpDef, writer: usize, edge: Edge) -> Result<TensorId, GraphError> {
        let ranks = self.graph.ranks;
        let bad = |what: &str| {
            let ranks = if ranks == 1 { "1 rank".to_string() } else { format!("{ranks} ranks") };
            let message = format!(
                "the {what} of its output are no whole number on {ranks}\nhelp: choose a rank count that divides what it splits, or check the config"
            );
            config_error(op.name, message)
        };
        let rows = edge.rows.div(Dim::field("tokens")).and_then(|r| r.value()).ok_or_else(|| bad("rows"))?;
        let parts = edge.parts.values().ok_or_else(|| bad("features"))?;
        let elem = edge.elem.ok_or_else(|| config_error(op.name, "the element type of its output is not known".into()))?;
        if rows < 1 || parts.iter().sum::<usize>() == 0 {
            return Err(config_error(op.name, "its output is empty\nhelp: check the dimensions of the config".into()));
        }
        self.graph.tensors.push(Tensor { rows: rows as usize, parts, elem, place: edge.place, collected: None, writer });
        Ok(self.graph.tensors.len() - 1)
    }

    fn writer_name(&self, value: Value) -> String {
        let writer = self.graph.tensors[value.0].writer;
        self.graph.ops.get(writer).map_or(String::new(), |node| node.task.name.to_string())
    }
}

/// The dimensions of a weight as the checks take them; the first but one holds the parts of the outputs.
fn weight_dims(input: &Input) -> Vec<Vec<Dim>> {
    let Input::Weight(weight) = input else { return Vec::new() };
    let shape = weight.shape();
    let outputs = shape.len().saturating_sub(2);
    let num = |n: usize| Dim::num(n as i64);
    shape
        .iter()
        .enumerate()
        .map(|(i, n)| if i == outputs { weight.parts().into_iter().map(num).collect() } else { vec![num(*n)] })
        .collect()
}
