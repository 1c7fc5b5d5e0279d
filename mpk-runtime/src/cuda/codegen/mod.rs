//! From a plan to one source: the prelude, the plan's constants, the bodies it uses and a dispatch that knows only them.
//!
//! Queues, waits and streams are tables on the device, not code, so the source depends on the shape of the plan only. The same
//! plan gives the same bytes.

mod body;
mod config;
mod flat;

use std::fmt::Write;

use thiserror::Error;

use super::packet::PacketLayout;
use super::variants::{Variants, elem_vars};
use crate::plan::Plan;

pub use config::Launch;

/// The name of the kernel in the CUBIN.
pub const KERNEL: &str = "mpk_kernel";

/// The prelude: names as bodies include them, and texts.
const PRELUDE: &[(&str, &str)] = &[
    ("mpk/base.cuh", include_str!("../prelude/base.cuh")),
    ("mpk/memory.cuh", include_str!("../prelude/memory.cuh")),
    ("mpk/mma.cuh", include_str!("../prelude/mma.cuh")),
    ("mpk/abi.cuh", include_str!("../prelude/abi.cuh")),
    ("mpk/worker.cuh", include_str!("../prelude/worker.cuh")),
    ("mpk/stream.cuh", include_str!("../prelude/stream.cuh")),
    ("mpk/ports.cuh", include_str!("../prelude/ports.cuh")),
    ("mpk/linear.cuh", include_str!("../prelude/linear.cuh")),
    ("mpk/consumer.cuh", include_str!("../prelude/consumer.cuh")),
    ("mpk/controller.cuh", include_str!("../prelude/controller.cuh")),
    ("mpk/kernel.cuh", include_str!("../prelude/kernel.cuh")),
];

/// The source of a plan's kernel.
#[derive(Clone, Debug)]
pub struct Source {
    /// The text.
    pub text: String,
    /// Its headers: names and texts.
    pub headers: Vec<(String, String)>,
    /// How it is launched.
    pub launch: Launch,
    /// The bodies in it.
    pub variants: Variants,
    /// The layout of the packets that its queues are made of.
    pub packets: PacketLayout,
}

/// No source can be made of a plan.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CodegenError {
    /// A shared memory region that the kernel needs is missing.
    #[error("the plan has no region `{0}` in shared memory")]
    Region(String),
    /// A task has no body for the GPU.
    #[error("MPK-E0101: {0} has no consumer body")]
    NoBody(String),
    /// A port is of a kind or shape that the GPU side does not know.
    #[error("{task}: port `{port}` {what}")]
    Port {
        /// The task.
        task: String,
        /// The port.
        port: String,
        /// What is not known.
        what: String,
    },
    /// A streaming task does not run on all groups.
    #[error("{task} streams weights on {groups} groups; all {all} groups of the kernel release pages, so it has to run on all")]
    Groups {
        /// The task.
        task: String,
        /// Its groups.
        groups: u32,
        /// The kernel's.
        all: u32,
    },
}

/// Writes the source of `plan`.
///
/// # Errors
/// See [`CodegenError`].
pub fn generate(plan: &Plan) -> Result<Source, CodegenError> {
    let variants = Variants::of(plan);
    let packets = PacketLayout::of(plan);
    let (launch, config) = config::config(plan, &variants, &packets)?;
    let mut text = String::from("#include \"mpk/consumer.cuh\"\n\nnamespace mpk {\nnamespace tasks {\n");
    for (index, task) in variants.tasks.iter().enumerate() {
        let ops: Vec<usize> = (0..plan.graph.ops.len()).filter(|op| variants.list[variants.of_op[*op]].task == index).collect();
        body::write(&mut text, plan, task, &ops)?;
    }
    text.push_str("}  // namespace tasks\n\n");
    write_dispatch(&mut text, &variants, launch.groups);
    text.push_str("\n}  // namespace mpk\n\n#include \"mpk/kernel.cuh\"\n");
    let mut headers: Vec<(String, String)> =
        PRELUDE.iter().map(|(name, text)| ((*name).to_string(), (*text).to_string())).collect();
    headers.push(("mpk/config.cuh".to_string(), config));
    Ok(Source { text, headers, launch, variants, packets })
}

/// One case for each body: nothing else is in the kernel.
fn write_dispatch(text: &mut String, variants: &Variants, groups: u32) {
    text.push_str("MPK_DEVICE void dispatch(Worker& worker, const Packet& packet) {\n    switch (packet.variant) {\n");
    for (index, variant) in variants.list.iter().enumerate() {
        let task = variants.tasks[variant.task];
        let elems: Vec<&str> = variant.elems.iter().map(|elem| body::cpp_elem(*elem)).collect();
        let arguments = if elem_vars(task).is_empty() { String::new() } else { format!("<{}>", elems.join(", ")) };
        let own = super::variants::groups(task);
        // What runs once still triggers in every step. Epochs count from 1, across launches too.
        let once = if task.once { "if (worker.epoch == 1) " } else { "" };
        let guard = if own < groups { format!("if (thread() < {}) ", own * 128) } else { String::new() };
        let _ = writeln!(
            text,
            "        case {index}: {once}{guard}tasks::{}::Body{arguments}(worker, packet).run(); break;",
            task.name
        );
    }
    text.push_str("    }\n}\n");
}
