//! The proc macros of mpk.
//!
//! Thin entries: each macro is a library function from tokens to tokens, which reads (`parse`), checks (`check`) and writes
//! (`expand`), and is tested as such.

mod errors;
