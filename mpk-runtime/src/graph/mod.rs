//! The graph of a model on one rank: ops in order, the tensors between them, the weights they read.

mod builder;
mod error;
mod fuse;
mod input;
mod size;
#[cfg(test)]
mod tests;
mod weight;

use serde::Serialize;

pub use builder::Builder;
pub use error::GraphError;
pub use input::{Input, OpCall, Value};
pub use size::Size;
pub use weight::{Source, WeightExpr};

use crate::rope::Rope;
use crate::shape::{Collective, Elem, Place, Shard};
use crate::task::TaskDef;

/// A config that a model can be built from.
pub trait ModelConfig: serde::de::DeserializeOwned {
    /// Whether `tied(a, b)` means `b`, else `a`.
    fn tie_word_embeddings(&self) -> bool {
        false
    }

    /// Token ids are below this.
    fn vocab_size(&self) -> usize;

    /// Positions the model was made for.
    fn max_positions(&self) -> usize;
}

/// A model: what `model!` implements.
pub trait Model {
    /// The config it is built from.
    type Config: ModelConfig;

    /// Its name in `model!`.
    const NAME: &'static str;

    /// Adds all its ops to `builder`; the value is what the model gives.
    ///
    /// # Errors
    /// Whatever can't be known by symbol: dimensions that do not divide by the ranks, absurd values in the config.
    fn build(config: &Self::Config, builder: &mut Builder) -> Result<Value, GraphError>;
}

/// The ops of a model, for one of `ranks` ranks. All ranks run the same graph.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The model's name.
    pub model: String,
    /// Ranks it is sharded over.
    pub ranks: usize,
    /// The layers that were built: all of the model's, or the slice asked for.
    pub layers: std::ops::Range<usize>,
    /// Ops, each after the ops it reads from.
    pub ops: Vec<Node>,
    /// Values between ops.
    pub tensors: Vec<Tensor>,
    /// The weights, each once.
    pub weights: Vec<WeightExpr>,
    /// Tensors of the checkpoint that the model names as unused.
    pub extras: Vec<String>,
    /// What the config ties: a tensor that the checkpoint may have, and the one that it must then equal.
    pub ties: Vec<(Source, Source)>,
    /// The value the model gives.
    pub output: TensorId,
}

/// Index of a tensor in [`Graph::tensors`].
pub type TensorId = usize;
/// Index of an op in [`Graph::ops`].
pub type OpId = usize;

/// One task of an op, with its arguments.
#[derive(Clone, Debug)]
pub struct Node {
    /// The task.
    pub task: &'static TaskDef,
    /// The op of the model that it is part of: peepholes are written over ops.
    pub op: &'static str,
    /// The layer, if it is in one.
    pub layer: Option<usize>,
    /// Arguments, parallel to the ports of the task's signature.
    pub args: Vec<NodeArg>,
    /// Values of the task's symbols on one rank; `T` is the rows of the step, `P` the positions of the cache, both 0 here.
    pub dims: Vec<(&'static str, usize)>,
    /// Split of the weights over the ranks.
    pub shard: Shard,
}

/// What is bound to a port.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeArg {
    /// Left out.
    Absent,
    /// Reads a tensor.
    In(TensorId),
    /// Writes a tensor.
    Out(TensorId),
    /// Reads a weight: an index into [`Graph::weights`].
    Weight(usize),
    /// Has a state of its own.
    State,
    /// Has as its state a tensor that was written once, at step 0.
    Held(TensorId),
    /// Reads the row table.
    Rows,
    /// A constant.
    F32(f32),
    /// A constant.
    U32(u32),
    /// A rope table.
    Rope(Rope),
    /// The instance of a grid-wide task.
    Offset,
}

/// A value between ops, seen from one rank.
#[derive(Clone, Debug, Serialize)]
pub struct Tensor {
    /// Rows are `rows` times the rows of the step.
    pub rows: usize,
    /// Features on one rank, by part.
    pub parts: Vec<usize>,
    /// Element type.
    pub elem: Elem,
    /// Placement over the ranks.
    pub place: Place,
    /// What the collective that reads it does; its buffer then has a slot for every source rank.
    #[serde(skip)]
    pub collected: Option<Collective>,
    /// The op that writes it.
    pub writer: OpId,
}

impl Tensor {
    /// Features of a row on one rank.
    pub fn features(&self) -> usize {
        self.parts.iter().sum()
    }
}

impl Graph {
    /// The tensor that the op which gives the output chooses from: the logits of a model that ends in an argmax.
    pub fn logits(&self) -> Option<TensorId> {
        let mut at = self.tensors.get(self.output)?.writer;
        let op = self.ops[at].op;
        loop {
            let tensor = self.ops[at].reads().next()?;
            at = self.tensors[tensor].writer;
            if self.ops[at].op != op {
                return (self.tensors[tensor].elem == Elem::F32).then_some(tensor);
            }
        }
    }
}

impl Node {
    /// Tensors that it reads; one that it has as its state is also written, but by nobody else after step 0.
    pub fn reads(&self) -> impl Iterator<Item = TensorId> + '_ {
        self.args.iter().filter_map(|a| if let NodeArg::In(t) | NodeArg::Held(t) = a { Some(*t) } else { None })
    }

    /// Whether it has memory that lives across steps.
    pub fn has_state(&self) -> bool {
        self.args.iter().any(|a| matches!(a, NodeArg::State | NodeArg::Held(_)))
    }

    /// Tensors that it writes.
    pub fn writes(&self) -> impl Iterator<Item = TensorId> + '_ {
        self.args.iter().filter_map(|a| if let NodeArg::Out(t) = a { Some(*t) } else { None })
    }

    /// The value of a symbol on one rank.
    pub fn dim(&self, name: &str) -> Option<usize> {
        self.dims.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
    }

    /// The name for people: `layer 3 linear_v3`.
    pub fn label(&self) -> String {
        match self.layer {
            Some(layer) => format!("layer {layer} {}", self.task.name),
            None => self.task.name.to_string(),
        }
    }
}
