//! The CUDA executor: a plan becomes one source, one CUBIN and one resident kernel.

pub mod abi;
pub mod codegen;
pub mod nvrtc;
pub mod pack;
pub mod packet;
pub mod variants;
