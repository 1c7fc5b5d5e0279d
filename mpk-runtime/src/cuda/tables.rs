//! The plan's queues as the kernel reads them: packets and segments, with addresses.

use super::abi;
use super::codegen::Source;
use super::packet::{Parts, routed};
use crate::graph::NodeArg;
use crate::plan::{PageSource, Plan, PlanError, Scope, Share, symbols};
use crate::shape::Place;
use crate::task::FieldKind;

/// Bytes from one counter to the next: each has its own line.
pub const COUNTER_STRIDE: u64 = 128;

/// Where everything of a rank lies on the device.
#[derive(Clone, Debug, Default)]
pub struct Addresses {
    /// By op.
    pub counters: u64,
    /// By buffer.
    pub buffers: Vec<u64>,
    /// By state.
    pub states: Vec<u64>,
    /// By weight.
    pub weights: Vec<u64>,
    /// By op; 0 for those without a rope.
    pub ropes: Vec<u64>,
    /// Page tables.
    pub pages: u64,
}

/// The queue of one worker.
pub struct QueueTable {
    /// Its packets, one after the other.
    pub packets: Vec<u8>,
    /// What its loader streams.
    pub segments: Vec<abi::Segment>,
}

impl Addresses {
    fn counter(&self, op: usize) -> u64 {
        self.counters + op as u64 * COUNTER_STRIDE
    }

    /// The waits that end a step.
    pub fn boundary(&self, plan: &Plan) -> Vec<abi::Wait> {
        plan.boundary.iter().map(|op| self.wait(plan, *op, u16::MAX)).collect()
    }

    fn wait(&self, plan: &Plan, op: usize, ports: u16) -> abi::Wait {
        let counter = plan.counters[op];
        abi::Wait { counter: self.counter(op), arrivals: counter.arrivals as u32, ports, scope: scope(counter.scope) }
    }
}

fn scope(scope: Scope) -> u16 {
    u16::from(scope == Scope::Sys)
}

/// The table of queue `queue`.
///
/// # Errors
/// A dimension is too large.
pub fn queue(plan: &Plan, source: &Source, at: &Addresses, queue: usize) -> Result<QueueTable, PlanError> {
    let of = &plan.queues[queue];
    let (rank, _) = plan.place_of(queue);
    let segment = |weight: usize, first_strip: usize, strips: usize| {
        let bytes = plan.weights[weight].strip_bytes();
        abi::Segment {
            source: at.weights[weight] + (first_strip * bytes) as u64,
            strips: strips as u32,
            strip_bytes: bytes as u32,
        }
    };
    let segments: Vec<(usize, abi::Segment)> = of
        .stream
        .iter()
        .map(|s| match s.source {
            PageSource::Static { weight, first_strip, strips } => (s.task, segment(weight, first_strip, strips)),
        })
        .collect();
    let mut packets = vec![0; of.tasks.len() * source.packets.bytes];
    for (i, share) in of.tasks.iter().enumerate() {
        let own: Vec<abi::Segment> = segments.iter().filter(|(task, _)| *task == i).map(|(_, s)| *s).collect();
        let bytes = &mut packets[i * source.packets.bytes..(i + 1) * source.packets.bytes];
        packet(plan, source, at, rank, share, &own, bytes)?;
    }
    Ok(QueueTable { packets, segments: segments.into_iter().map(|(_, s)| s).collect() })
}

fn packet(
    plan: &Plan,
    source: &Source,
    at: &Addresses,
    rank: usize,
    share: &Share,
    segments: &[abi::Segment],
    bytes: &mut [u8],
) -> Result<(), PlanError> {
    let node = &plan.graph.ops[share.op];
    let parts = Parts::of(node.task, share.waits.len(), share.triggers.len());
    let mut put = |offset: usize, part: &[u8]| bytes[offset..offset + part.len()].copy_from_slice(part);
    let header = abi::Packet {
        variant: source.variants.of_op[share.op] as u32,
        first_tile: share.first as u32,
        tiles: share.tiles as u32,
        op: share.op as u32,
        waits: parts.waits as u16,
        wait_count: share.waits.len() as u16,
        triggers: parts.triggers as u16,
        trigger_count: share.triggers.len() as u16,
        segments: parts.segments as u16,
        block: parts.block as u16,
        routes: parts.routes as u16,
        unused: 0,
    };
    put(0, bytemuck::bytes_of(&header));

    let waits: Vec<abi::Wait> = share
        .waits
        .iter()
        .map(|op| {
            // Memory that is held is no `In` that a body could wait for by name: it belongs to every wait.
            let ports = node.args.iter().enumerate().fold(0, |bits, (port, arg)| match arg {
                NodeArg::In(t) if plan.graph.tensors[*t].writer == *op => bits | 1 << port,
                NodeArg::Held(t) if plan.graph.tensors[*t].writer == *op => u16::MAX,
                _ => bits,
            });
            at.wait(plan, *op, ports)
        })
        .collect();
    put(parts.waits, bytemuck::cast_slice(&waits));
    let triggers: Vec<abi::Trigger> = share
        .triggers
        .iter()
        .map(|t| abi::Trigger { counter: at.counter(t.counter), scope: scope(plan.counters[t.counter].scope).into(), unused: 0 })
        .collect();
    put(parts.triggers, bytemuck::cast_slice(&triggers));
    put(parts.segments, bytemuck::cast_slice(segments));

    let symbols = symbols(&plan.graph, share.op, &plan.options, plan.pages)?;
    for field in node.task.block.fields {
        let port = node.task.signature.ports.iter().position(|p| p.name == field.name);
        let arg = port.map_or(&NodeArg::Absent, |port| &node.args[port]);
        let place = parts.block + field.offset;
        match (field.kind, arg) {
            (FieldKind::Address, arg) => {
                let address = match arg {
                    NodeArg::In(tensor) | NodeArg::Out(tensor) | NodeArg::Held(tensor) => at.buffers[plan.tensors[*tensor]],
                    NodeArg::Weight(weight) => at.weights[*weight],
                    NodeArg::State => {
                        let state = plan.states.iter().position(|s| s.op == share.op && Some(s.port) == port);
                        state.map_or(0, |state| at.states[state])
                    }
                    NodeArg::Rows => at.pages,
                    NodeArg::Rope(_) => at.ropes[share.op],
                    _ => 0,
                };
                put(place, &address.to_le_bytes());
            }
            (FieldKind::F32, NodeArg::F32(value)) => put(place, &value.to_le_bytes()),
            (FieldKind::U32, NodeArg::U32(value)) => put(place, &value.to_le_bytes()),
            _ => {
                let value = symbols.iter().find(|(name, _)| *name == field.name).map_or(0, |(_, value)| *value);
                put(place, &(value as u32).to_le_bytes());
            }
        }
    }

    let routes: Vec<abi::Route> = routed(node.task)
        .map(|port| match &node.args[port] {
            NodeArg::In(tensor) | NodeArg::Out(tensor) => {
                let (buffer, of) = (plan.buffer(*tensor), &plan.graph.tensors[*tensor]);
                let first = if of.place == Place::Sharded { rank * of.features() } else { 0 };
                abi::Route {
                    parity: buffer.offset(0, 1) as u32,
                    source: buffer.bytes as u32,
                    first: first as u32,
                    ranks: buffer.sources as u32,
                }
            }
            _ => abi::Route { parity: 0, source: 0, first: 0, ranks: 1 },
        })
        .collect();
    put(parts.routes, bytemuck::cast_slice(&routes));
    Ok(())
}
