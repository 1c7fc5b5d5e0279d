//! Peepholes: chains of ops that one task replaces.
