//! Peepholes: chains of ops that one task replaces.

use super::builder::{Builder, GraphError, Input, OpCall, Value};
use super::{Graph, Node, NodeArg, OpId, TensorId};
use crate::shape::{ElemSpec, PortKind, Shard, binds};
use crate::task::TaskDef;

impl Graph {
    /// This graph with every chain that one of `peepholes` (tasks with [`TaskDef::fuses`]) stands for replaced by that task.
    ///
    /// A chain is replaced where each value in it is read by the next op alone and flows into its first `In`. On more than one
    /// rank the value of a row-sharded op flows into a collective, so that no such chain is found there.
    ///
    /// # Errors
    /// The fused task does not take what its chain takes: an error in its declaration.
    pub fn fused(&self, peepholes: &[&'static TaskDef]) -> Result<Graph, GraphError> {
        let mut chains: Vec<Option<(&'static TaskDef, Vec<OpId>)>> = vec![None; self.ops.len()];
        let mut absorbed = vec![false; self.ops.len()];
        let readers = self.readers();
        for first in 0..self.ops.len() {
            let found = peepholes
                .iter()
                .filter_map(|task| self.chain(first, task.fuses, &readers).map(|chain| (*task, chain)))
                .filter(|(_, chain)| chain.iter().all(|op| !absorbed[*op]))
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
            // What only the task before it in a composite binds.
            let before: Vec<_> = node.dims.iter().filter(|(symbol, _)| !binds(&task.signature, symbol)).copied().collect();
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

    /// The ops of the chain `names` that begins at `first`, if there is one.
    fn chain(&self, first: OpId, names: &[&str], readers: &[Vec<OpId>]) -> Option<Vec<OpId>> {
        let (head, rest) = names.split_first()?;
        if self.ops[first].op != *head || rest.is_empty() {
            return None;
        }
        let mut chain = vec![first];
        let mut at = first;
        for name in rest {
            let out = self.ops[at].writes().next()?;
            let [next] = readers[out][..] else { return None };
            let flows = self.ops[next].reads().next() == Some(out);
            if out == self.output || self.ops[next].op != *name || !flows {
                return None;
            }
            chain.push(next);
            at = next;
        }
        Some(chain)
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
                Some(NodeArg::U32(v)) => Some(Input::U32(*v)),
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
