//! What `cargo build` must reject and accept: the cases are under `tests/`.
