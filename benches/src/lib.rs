//! Benchmarks: see the `benches` targets.
