//! The bodies that a plan needs: each task once for every choice of element types that its ops make.

use crate::graph::{Node, NodeArg};
use crate::plan::Plan;
use crate::shape::{Elem, ElemSpec, PortKind};
use crate::task::{RoleKind, TaskDef};

/// A task with its element types.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Index into [`Variants::tasks`].
    pub task: usize,
    /// The element types of the task's variables, in the order in which its ports name them.
    pub elems: Vec<Elem>,
}

/// All bodies of a plan, in the order in which its ops first need them.
#[derive(Clone, Debug)]
pub struct Variants {
    /// The tasks, each once.
    pub tasks: Vec<&'static TaskDef>,
    /// The bodies; a packet names one by its index here.
    pub list: Vec<Variant>,
    /// The variant of each op.
    pub of_op: Vec<usize>,
}

impl Variants {
    /// The bodies of `plan`.
    pub fn of(plan: &Plan) -> Variants {
        let mut variants = Variants { tasks: Vec::new(), list: Vec::new(), of_op: Vec::new() };
        for node in &plan.graph.ops {
            let task = position_or_push(&mut variants.tasks, node.task, |a, b| a.name == b.name && a.file == b.file);
            let elems = elem_vars(node.task).iter().map(|var| elem(plan, node, var)).collect();
            let variant = position_or_push(&mut variants.list, Variant { task, elems }, |a, b| a == b);
            variants.of_op.push(variant);
        }
        variants
    }
}

fn position_or_push<T>(list: &mut Vec<T>, item: T, same: impl Fn(&T, &T) -> bool) -> usize {
    list.iter().position(|other| same(other, &item)).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

/// The element variables of a task, in the order of its ports.
pub fn elem_vars(task: &TaskDef) -> Vec<&'static str> {
    let mut vars = Vec::new();
    for port in task.signature.ports {
        if let (ElemSpec::Var(var), PortKind::In | PortKind::Out | PortKind::Weight | PortKind::State { .. }) =
            (port.elem, port.kind)
            && !vars.contains(&var)
        {
            vars.push(var);
        }
    }
    vars
}

/// The element type that an op binds to a variable: that of its activations; weights are bf16.
fn elem(plan: &Plan, node: &Node, var: &str) -> Elem {
    let mut bound = node.task.signature.ports.iter().zip(&node.args).filter_map(|(port, arg)| match (port.elem, arg) {
        (ElemSpec::Var(v), NodeArg::In(tensor) | NodeArg::Out(tensor)) if v == var => Some(plan.graph.tensors[*tensor].elem),
        _ => None,
    });
    bound.next().unwrap_or(Elem::Bf16)
}

/// Consumer groups of a task.
pub fn groups(task: &TaskDef) -> u32 {
    task.roles.iter().find(|role| role.kind == RoleKind::Consumer).map_or(1, |role| role.groups)
}
