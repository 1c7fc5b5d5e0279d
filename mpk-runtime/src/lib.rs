//! mpk-runtime
