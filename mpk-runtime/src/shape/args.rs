//! What a model gives to an op.

use super::dim::Dim;
use super::edge::{Edge, Elem};
use super::text::same;

/// How the weights of an op are split over the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shard {
    /// Every rank has all of them.
    None,
    /// By output features: the output is sharded.
    Column,
    /// By input features: the output is partial.
    Row,
}

/// An argument by name.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The port it is for; empty for the weight written without a name, which goes to the first `Weight` port left.
    pub port: &'a str,
    /// What is given.
    pub arg: Arg<'a>,
}

/// What a model gives to a port.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::large_enum_variant, reason = "const evaluation has no boxes")]
pub enum Arg<'a> {
    /// A value, and the op that made it.
    Edge(&'a str, Edge),
    /// A weight by its shape; the parts of each dimension are those of the stack.
    Weight(&'a [&'a [Dim]]),
    /// A parameter; its value by symbol where it is a plain config field.
    Param(Dim),
    /// The element type of an `Out`.
    Elem(Elem),
}

/// The arguments of one op in a model.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a> {
    /// The op that made the chained value, for messages.
    pub from: &'a str,
    /// The value that flows in by `->`; it binds to the first `In`.
    pub chained: Option<Edge>,
    /// All others.
    pub named: &'a [Named<'a>],
    /// The split of the weights.
    pub shard: Shard,
}

/// The argument for `port`.
pub(super) const fn find<'a>(named: &'a [Named<'a>], port: &str) -> Option<Arg<'a>> {
    let mut i = 0;
    while i < named.len() {
        if same(named[i].port, port) {
            return Some(named[i].arg);
        }
        i += 1;
    }
    None
}
