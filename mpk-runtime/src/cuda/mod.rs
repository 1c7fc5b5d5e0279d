//! The CUDA executor: a plan becomes one source, one CUBIN and one resident kernel.

pub mod abi;
pub mod codegen;
pub mod driver;
pub mod error;
pub mod executor;
pub mod fault;
mod mailbox;
pub mod nvrtc;
pub mod pack;
pub mod packet;
pub mod tables;
pub mod variants;
pub mod weights;
