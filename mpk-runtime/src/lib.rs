//! Graph, plan, verifier and executors for language models written as one persistent kernel.
//!
//! Data flows one way: `model!` builds a [`graph`], the planner makes a plan of it, the verifier proves the plan, an executor runs it.

// Tasks may be defined in this crate too: the macros name everything by `::mpk_runtime`.
extern crate self as mpk_runtime;

pub mod check;
pub mod cuda;
pub mod engine;
pub mod goldens;
pub mod graph;
pub mod host;
pub mod load;
pub mod plan;
pub mod reference;
pub mod rope;
pub mod shape;
pub mod step;
pub mod task;
pub mod text;
pub mod verify;

#[doc(hidden)]
pub use bytemuck;
pub use half::bf16;
pub use mpk_macros::{model, mpk_task, op, task_table};
/// For the configs of models: `#[derive(serde::Deserialize)]` with `#[serde(crate = "mpk_runtime::serde")]`.
pub use serde;
#[doc(hidden)]
pub use static_assertions;
