//! A plan as text.

use std::fmt::Write;

use super::sections::{bytes_by_worker, grouped, plural, sections, size, title};
use super::{Plan, Scope};
use crate::graph::OpId;

impl Plan {
    /// The plan as JSON: the model, then all its data.
    ///
    /// # Errors
    /// None in practice: every number of a plan is finite and every key a string.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let graph = &self.graph;
        serde_json::to_string_pretty(&serde_json::json!({
            "model": graph.model,
            "layers": [graph.layers.start, graph.layers.end],
            "graph_tensors": graph.tensors,
            "output": graph.output,
            "plan": self,
        }))
    }

    /// A summary for people: ops, balance, shared memory, buffers and counters.
    pub fn report(&self) -> String {
        let mut text = String::new();
        // Writing to a string can't fail.
        let _ = self.write_report(&mut text);
        text
    }

    fn write_report(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "{}: {}\n", self.graph.model, self.setting())?;
        self.write_ops(out)?;
        self.write_balance(out)?;
        self.write_shared(out)?;
        self.write_memory(out)
    }

    /// `36 layers on 132 workers, …`: what the plan is made for.
    pub(super) fn setting(&self) -> String {
        let Plan { graph, options, ranks, .. } = self;
        let ranks = if *ranks > 1 { format!("{ranks} ranks × ") } else { String::new() };
        format!(
            "{} on {ranks}{}, up to {} a step, {} of {} positions",
            plural(graph.layers.len(), "layer"),
            plural(options.workers, "worker"),
            plural(options.rows, "row"),
            plural(options.slots, "slot"),
            grouped(options.context)
        )
    }

    fn write_ops(&self, out: &mut String) -> std::fmt::Result {
        let line = |out: &mut String, indent: &str, op: OpId| {
            let tasks = self.shares(op);
            let bytes = self.ops[op].weight_bytes;
            let bytes = if bytes > 0 { size(bytes) } else { "-".to_string() };
            let name = format!("{indent}{}", title(self, op));
            writeln!(out, "  {name:<44} {:>7} {tasks:>8} {bytes:>10}", grouped(self.ops[op].tiles))
        };
        writeln!(out, "  {:<44} {:>7} {:>8} {:>10}", "op", "tiles", "workers", "weights")?;
        for section in sections(self) {
            let indent = if section.layer.is_some() {
                writeln!(out, "  {} (× {})", section.title(), section.times)?;
                "  "
            } else {
                ""
            };
            for op in section.ops {
                line(out, indent, op)?;
            }
        }
        let tasks: usize = self.queues.iter().map(|queue| queue.tasks.len()).sum();
        let bytes = self.ops.iter().map(|op| op.weight_bytes).sum();
        writeln!(out, "  {} ops, {} tasks, {} of weights a step on each rank\n", self.ops.len(), grouped(tasks), size(bytes))
    }

    fn write_balance(&self, out: &mut String) -> std::fmt::Result {
        let bytes = bytes_by_worker(self);
        let (least, most) = (bytes.iter().min().copied().unwrap_or(0), bytes.iter().max().copied().unwrap_or(0));
        let mean = bytes.iter().sum::<usize>() as f64 / bytes.len().max(1) as f64;
        let over = if mean > 0.0 { (most as f64 / mean - 1.0) * 100.0 } else { 0.0 };
        let mean = size(mean.round() as usize);
        writeln!(
            out,
            "bytes per worker: {} to {}, mean {mean}; the longest is {over:.2} % over the mean\n",
            size(least),
            size(most)
        )
    }

    fn write_shared(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "shared memory of a worker: {} bytes", grouped(self.options.shared_memory))?;
        writeln!(out, "  {:>8} {:>8} {:>6}  region", "offset", "bytes", "align")?;
        for region in &self.shared {
            let note = match region.name.as_str() {
                "ring" => {
                    let ring = self.ring;
                    format!("  {} pages of {}, {} in flight", ring.stages, grouped(ring.page_bytes), ring.in_flight)
                }
                _ => String::new(),
            };
            let (offset, bytes) = (grouped(region.offset), grouped(region.bytes));
            writeln!(out, "  {offset:>8} {bytes:>8} {:>6}  {}{note}", grouped(region.align), region.name)?;
        }
        writeln!(out)
    }

    fn write_memory(&self, out: &mut String) -> std::fmt::Result {
        let all: usize = self.buffers.iter().map(super::Buffer::total).sum();
        writeln!(out, "buffers of a rank: {} for {} tensors, {}", self.buffers.len(), self.tensors.len(), size(all))?;
        for (i, buffer) in self.buffers.iter().enumerate() {
            let held = self.tensors.iter().filter(|b| **b == i).count();
            let mut copies = String::new();
            if buffer.sources > 1 {
                write!(copies, " × {} sources", buffer.sources)?;
            }
            if buffer.parity > 1 {
                write!(copies, " × {} steps", buffer.parity)?;
            }
            writeln!(out, "  {i:>3}: {:>10} bytes{copies}, {}", grouped(buffer.bytes), plural(held, "tensor"))?;
        }
        let (states, weights): (usize, usize) =
            (self.states.iter().map(super::State::bytes).sum(), self.weights.iter().map(|w| w.bytes).sum());
        writeln!(out, "states: {} of {}, {}", self.states.len(), plural(self.pages, "page"), size(states))?;
        writeln!(out, "weights: {}, {} packed", self.weights.len(), size(weights))?;
        let arrivals = |f: fn(usize, usize) -> usize, start| self.counters.iter().map(|c| c.arrivals).fold(start, f);
        let system = self.counters.iter().filter(|c| c.scope == Scope::Sys).count();
        writeln!(
            out,
            "counters: {}, {} of them across ranks, {} to {} arrivals a step",
            self.counters.len(),
            system,
            arrivals(usize::min, usize::MAX),
            arrivals(usize::max, 0)
        )?;
        let boundary: Vec<&str> = self.boundary.iter().map(|op| self.ops[*op].label.as_str()).collect();
        writeln!(out, "a step ends with: {}", boundary.join(", "))
    }

    /// Workers of rank 0 that have a share of an op.
    pub(super) fn shares(&self, op: OpId) -> usize {
        self.queues.iter().take(self.options.workers).flat_map(|queue| &queue.tasks).filter(|share| share.op == op).count()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    #[test]
    fn a_report_says_what_the_plan_holds() {
        let text = plan(QWEN3_8B, 132, 1).report();
        println!("{text}");
        for line in ["layers 0 to 35 (× 36)", "linear_v3 q + k + v", "linear_v3 gate + up", "a step ends with: argmax_reduce"] {
            assert!(text.contains(line), "no `{line}` in\n{text}");
        }
        println!("{}", plan(TWO_RANKS, 5, 2).report());
    }

    #[test]
    fn json_names_the_ops() {
        let json = plan(TWO_RANKS, 3, 1).to_json().unwrap();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["plan"]["ops"][1]["label"], "layer 0 rmsnorm");
        assert_eq!(value["plan"]["queues"].as_array().unwrap().len(), 6);
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!([size(999), size(384_000), size(15_140_000_000)], ["999 B", "384 KB", "15.1 GB"]);
        assert_eq!([grouped(7), grouped(1000), grouped(1_234_567)], ["7", "1,000", "1,234,567"]);
    }
}
