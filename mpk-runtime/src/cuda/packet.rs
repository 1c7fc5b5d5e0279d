//! The packet of a task: everything that a worker's consumers read of it, in one piece of fixed size.

use super::abi;
use crate::plan::Plan;
use crate::shape::PortKind;
use crate::task::TaskDef;

/// The size of the packets of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketLayout {
    /// Bytes of a packet.
    pub bytes: usize,
}

impl PacketLayout {
    /// As large as the largest task needs.
    pub fn of(plan: &Plan) -> PacketLayout {
        let shares = plan.queues.iter().flat_map(|queue| &queue.tasks);
        let bytes = shares.map(|share| {
            let task = plan.graph.ops[share.op].task;
            Parts::of(task, share.waits.len(), share.triggers.len()).end
        });
        PacketLayout { bytes: bytes.max().unwrap_or(0).next_multiple_of(128) }
    }
}

/// Where the parts of a packet lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub waits: usize,
    pub triggers: usize,
    pub segments: usize,
    pub block: usize,
    pub routes: usize,
    pub end: usize,
}

impl Parts {
    pub fn of(task: &TaskDef, wait_count: usize, trigger_count: usize) -> Parts {
        let waits = size_of::<abi::Packet>();
        let triggers = waits + wait_count * size_of::<abi::Wait>();
        let segments = triggers + trigger_count * size_of::<abi::Trigger>();
        let block = segments + task.streams.len() * size_of::<abi::Segment>();
        let routes = block + task.block.size;
        let end = routes + routed(task).count() * size_of::<abi::Route>();
        Parts { waits, triggers, segments, block, routes, end }
    }
}

/// The ports with a route, by index: activations read and written.
pub(super) fn routed(task: &TaskDef) -> impl Iterator<Item = usize> + '_ {
    let ports = task.signature.ports.iter().enumerate();
    ports.filter(|(_, port)| matches!(port.kind, PortKind::In | PortKind::Out)).map(|(index, _)| index)
}
