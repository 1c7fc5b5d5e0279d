//! Peepholes: chains of ops that one task replaces.

use super::{Builder, Graph, GraphError, Input, Node, NodeArg, OpCall, OpId, TensorId, Value};
use crate::shape::{Edge, ElemSpec, PortKind, Shard, binds};
use crate::task::TaskDef;

impl Graph {
    /// This graph with every chain that one of `peepholes` (tasks with [`TaskDef::fuses`]) stands for replaced by that task.
    ///
    /// A chain is replaced where each value in it is read by the next op alone and flows into its first `In`, and where the task
    /// takes what the chain takes and gives what it gives: element types or placements may differ, as those of a sum of partial
    /// values do, and then the chain stays.
    ///
    /// # Errors
    /// Those of [`Builder`]; none for a graph that it built.
    pub fn fused(&self, peepholes: &[&'static TaskDef]) -> Result<Graph, GraphError> {
        let mut chains: Vec<Option<(&'static TaskDef, Vec<OpId>)>> = vec![None; self.ops.len()];
        let mut absorbed = vec![false; self.ops.len()];
        let readers = self.readers();
        let fits = Fits::of(self);
        for first in 0..self.ops.len() {
            let found = peepholes
                .iter()
                .filter_map(|task| self.chain(first, task, &readers).map(|chain| (*task, chain)))
                .filter(|(task, chain)| chain.iter().all(|op| !absorbed[*op]) && fits.chain(task, chain))
                .max_by_key(|(_, chain)| chain.len());
            if let Some((task, chain)) = found {
                for op in &chain {
                    absorbed[*op] = true;
                }
                if let Some(last) = chain.last() {
                    chains[*last] = Some((task, chain.clone()));
                }
            }
        }

        let mut builder = Builder::again(self);
        let mut moved: Vec<Option<Value>> = vec![None; self.tensors.len()];
        for (op, node) in self.ops.iter().enumerate() {
            let (task, nodes): (_, Vec<&Node>) = match &chains[op] {
                Some((task, chain)) => (*task, chain.iter().map(|op| &self.ops[*op]).collect()),
                None if absorbed[op] => continue,
                None => (node.task, vec![node]),
            };
            let name = if nodes.len() > 1 { task.name } else { node.op };
            let call = self.call_of(task, &nodes, &moved);
            let before = before(task, node);
            let outs = builder.task_again(name, task, node.layer, &call, &before)?;
            for (tensor, value) in node.writes().zip(outs) {
                moved[tensor] = Some(value);
            }
        }
        match moved[self.output] {
            Some(output) => Ok(builder.finish(output)),
            None => Ok(self.clone()),
        }
    }

    /// The ops that read each tensor, each once.
    fn readers(&self) -> Vec<Vec<OpId>> {
        let mut readers = vec![Vec::new(); self.tensors.len()];
        for (op, node) in self.ops.iter().enumerate() {
            for tensor in node.reads() {
                if readers[tensor].last() != Some(&op) {
                    readers[tensor].push(op);
                }
            }
        }
        readers
    }

    /// The ops of the chain that `task` stands for, if one begins at `first`.
    fn chain(&self, first: OpId, task: &TaskDef, readers: &[Vec<OpId>]) -> Option<Vec<OpId>> {
        let mut tasks = task.fuses.iter().flat_map(|op| op.stages);
        tasks.next().filter(|task| self.ops[first].task.is(task))?;
        let mut chain = vec![first];
        let mut at = first;
        for task in tasks {
            let out = self.ops[at].writes().next()?;
            let [next] = readers[out][..] else { return None };
            let flows = self.ops[next].reads().next() == Some(out);
            if out == self.output || !self.ops[next].task.is(task) || !flows {
                return None;
            }
            chain.push(next);
            at = next;
        }
        (chain.len() > 1).then_some(chain)
    }

    /// The arguments of `task` out of those of `nodes`, by the names of the ports.
    fn call_of(&self, task: &'static TaskDef, nodes: &[&Node], moved: &[Option<Value>]) -> OpCall {
        let inner: Vec<TensorId> = nodes[..nodes.len() - 1].iter().flat_map(|node| node.writes()).collect();
        let mut named = Vec::new();
        for port in task.signature.ports {
            let given = nodes.iter().find_map(|node| {
                let at = node.task.signature.ports.iter().position(|p| p.name == port.name && p.kind == port.kind)?;
                match &node.args[at] {
                    NodeArg::In(t) | NodeArg::Out(t) | NodeArg::Held(t) if inner.contains(t) => None,
                    arg => Some(arg),
                }
            });
            let input = match given {
                Some(NodeArg::In(t) | NodeArg::Held(t)) => moved[*t].map(Input::Value),
                Some(NodeArg::Weight(w)) => Some(Input::Weight(self.weights[*w].clone())),
                Some(NodeArg::F32(v)) => Some(Input::F32(*v)),
                Some(NodeArg::U32(v)) => Some(Input::from(*v)),
                Some(NodeArg::Rope(v)) => Some(Input::Rope(v.clone())),
                Some(NodeArg::Out(t)) if port.kind == PortKind::Out && matches!(port.elem, ElemSpec::Var(_)) => {
                    Some(Input::Elem(self.tensors[*t].elem))
                }
                _ => None,
            };
            named.extend(input.map(|input| (port.name, input)));
        }
        let shard = nodes.iter().map(|node| node.shard).find(|shard| *shard != Shard::None).unwrap_or(Shard::None);
        OpCall { chained: None, named, shard }
    }
}

/// Whether tasks take what chains of a graph take.
struct Fits<'a> {
    graph: &'a Graph,
    builder: Builder,
    /// Every tensor as itself.
    values: Vec<Option<Value>>,
}

impl Fits<'_> {
    fn of(graph: &Graph) -> Fits<'_> {
        Fits { graph, builder: Builder::beyond(graph), values: (0..graph.tensors.len()).map(|t| Some(Value(t))).collect() }
    }

    /// Whether `task` can stand for `chain`: it takes its arguments, and gives what its last op gives.
    fn chain(&self, task: &'static TaskDef, chain: &[OpId]) -> bool {
        let nodes: Vec<&Node> = chain.iter().map(|op| &self.graph.ops[*op]).collect();
        let Some(last) = nodes.last() else { return false };
        let call = self.graph.call_of(task, &nodes, &self.values);
        let Some(gives) = self.builder.would_give(task, &call, &before(task, last)) else { return false };
        let wanted: Vec<_> = last.writes().map(|t| self.builder.edge(Value(t))).collect();
        let alike = |a: &Edge, b: &Edge| {
            a.rows.same(&b.rows) && a.parts.values() == b.parts.values() && a.elem == b.elem && a.place == b.place
        };
        gives.len() == wanted.len() && gives.iter().zip(&wanted).all(|(a, b)| alike(a, b))
    }
}

/// The symbols that only the task before `node` in its composite binds.
fn before(task: &TaskDef, node: &Node) -> Vec<(&'static str, usize)> {
    node.dims.iter().filter(|(symbol, _)| !binds(&task.signature, symbol)).copied().collect()
}
