//! The CUDA executor: a plan becomes one source, one CUBIN and one resident kernel.

pub mod nvrtc;
pub mod pack;
