//! Shapes that are checked twice by the same code: by symbol when a `model!` is compiled, by value when its
//! graph is built. Everything here works in const evaluation.

mod agree;
mod args;
mod bindings;
mod dim;
mod edge;
mod infer;
mod messages;
mod place;
mod signature;
mod text;

pub use agree::{Meet, check_alike, check_end, check_meet, check_outs, check_taken};
pub use args::{Arg, Args, Named, Shard};
pub use bindings::{Bindings, binds};
pub use dim::Dim;
pub use edge::{Edge, Elem, Parts, Place};
pub use infer::{Inference, infer, infer_task};
pub use signature::{Collective, ElemSpec, Expr, ParamType, Port, PortKind, Signature, Tiles};
pub use text::{Text, same};
