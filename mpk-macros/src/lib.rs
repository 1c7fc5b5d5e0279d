//! The proc macros of mpk.
