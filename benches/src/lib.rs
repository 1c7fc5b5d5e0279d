//! Benchmarks: what the program `bench` measures a decode step with, and the `benches` targets.

pub mod ceiling;
pub mod decode;
pub mod random;
pub mod traffic;
