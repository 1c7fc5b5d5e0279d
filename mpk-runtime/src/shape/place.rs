//! Placements over the ranks: which op takes which (MPK-E0150), and what may be summed (MPK-E0152).

use super::args::Shard;
use super::edge::Place;
use super::signature::{Collective, Expr, Port, PortKind, Signature};
use super::text::{Text, same};

/// What follows from the placement of a value for the op that takes it.
pub(super) enum Judged<'a> {
    /// The placement of the output does not depend on this port.
    Fine,
    /// The task is linear in this port: the output is placed as it is.
    Additive,
    /// The task works on each share by itself: the output is sharded as the input is.
    Keeps,
    /// The other summand, and its placement, which is not that of this one.
    Mixed(&'a str, Place),
    Wrong(Wrong),
}

/// Two summands that are placed differently, each with the op that made it.
pub(super) const fn mixed(sig: &Signature, a: (&str, Place), b: (&str, Place)) -> Text {
    let partial = a.1.same(Place::Partial) || b.1.same(Place::Partial);
    let text = Text::new().str(if partial { "MPK-E0152: " } else { "MPK-E0150: " });
    let text = text.str(sig.name).str(" takes a ").str(a.1.name()).str(" value of ").str(a.0);
    let text = text.str(" and a ").str(b.1.name()).str(" value of ").str(b.0);
    if partial {
        let from = if a.1.same(Place::Partial) { a.0 } else { b.0 };
        let text = text.str("\nwhat every rank has in full would be added once per rank\nhelp: write `-> all_reduce` behind ");
        return text.str(from).str(", before the sum, so that it is added once");
    }
    text.str("\neach rank would add its share to features of another\nhelp: end the sharded stretch with `shard = row` and `all_reduce` first")
}

pub(super) enum Wrong {
    PartialTaken,
    NotPartial,
    NeedsReplicated,
    NeedsSharded,
    NeedsWhole,
    AddedPerRank,
}

/// Why a task can't take `shard = row`, if it can't: it must sum over the inputs of a weight, of which each rank has its share.
pub(super) const fn judge_row(sig: &Signature) -> Option<Text> {
    let mut fits = sig.collective.is_some() || !sig.additive.is_empty();
    let mut p = 0;
    while p < sig.ports.len() {
        let port = &sig.ports[p];
        fits = fits || matches!(port.kind, PortKind::In) && contracts(sig, port);
        p += 1;
    }
    if fits {
        return None;
    }
    let text = Text::new().str("MPK-E0152: ").str(sig.name).str(" takes no `shard = row`: it sums over the inputs of no weight");
    Some(text.str("\neach rank would give the same value, and the collective add it once per rank\nhelp: leave `shard` and the collective out"))
}

/// Whether a value placed as `place` may go into `port`.
pub(super) const fn judge_place<'a>(
    sig: &Signature,
    port: &Port,
    shard: Shard,
    place: Place,
    additive: Option<(&'a str, Place)>,
) -> Judged<'a> {
    if let Some(Collective::Sum) = sig.collective {
        return match place {
            Place::Partial => Judged::Fine,
            _ => Judged::Wrong(Wrong::NotPartial),
        };
    }
    let mut a = 0;
    while a < sig.additive.len() {
        if same(sig.additive[a], port.name) {
            return match additive {
                Some((from, other)) if !other.same(place) => Judged::Mixed(from, other),
                _ => Judged::Additive,
            };
        }
        a += 1;
    }
    if place.same(Place::Partial) {
        return Judged::Wrong(Wrong::PartialTaken);
    }
    if sig.collective.is_some() {
        return Judged::Fine;
    }
    match shard {
        Shard::Column => match place {
            Place::Replicated => Judged::Fine,
            // Head by head beside weights that are split alike.
            _ if share_symbol(&port.shape[1], &sig.tiles.axis) && !contracts(sig, port) => Judged::Fine,
            _ => Judged::Wrong(Wrong::NeedsReplicated),
        },
        Shard::Row => match (place, contracts(sig, port)) {
            (Place::Sharded, true) => Judged::Fine,
            (_, true) => Judged::Wrong(Wrong::NeedsSharded),
            // Feature by feature beside the partial sums; what has none of their features, as a route, is no summand.
            (Place::Replicated, false) if share_symbol(&port.shape[1], &sig.tiles.axis) => Judged::Wrong(Wrong::AddedPerRank),
            (Place::Replicated, false) => Judged::Fine,
            (_, false) => Judged::Wrong(Wrong::NeedsReplicated),
        },
        Shard::None => match place {
            Place::Replicated => Judged::Fine,
            _ if share_symbol(&port.shape[1], &sig.tiles.axis) => Judged::Keeps,
            _ => Judged::Wrong(Wrong::NeedsWhole),
        },
    }
}

/// Whether the features of `port` are summed over against the last dimension of a weight.
const fn contracts(sig: &Signature, port: &Port) -> bool {
    let mut p = 0;
    while p < sig.ports.len() {
        let weight = &sig.ports[p];
        if matches!(weight.kind, PortKind::Weight)
            && weight.shape.len() >= 2
            && share_symbol(&weight.shape[weight.shape.len() - 1], &port.shape[1])
        {
            return true;
        }
        p += 1;
    }
    false
}

impl Wrong {
    /// The message for a value of the op `from`.
    pub(super) const fn said_of(&self, sig: &Signature, from: &str) -> Text {
        let text = Text::new();
        match self {
            Wrong::PartialTaken => text
                .str("MPK-E0150: ")
                .str(from)
                .str(" gives a value that is partial over all ranks, ")
                .str(sig.name)
                .str(" takes a complete one\nwith more than one rank each would go on with its own summand: plausible text, and wrong\nhelp: write `-> all_reduce` between them"),
            Wrong::NotPartial => text
                .str("MPK-E0150: ")
                .str(from)
                .str(" gives a value that is not partial, ")
                .str(sig.name)
                .str(" would sum it once per rank\nthe result would be world-size times too large\nhelp: leave the collective out, or shard the op before it with `shard = row`"),
            Wrong::NeedsReplicated => text
                .str("MPK-E0150: ")
                .str(from)
                .str(" gives a sharded value, ")
                .str(sig.name)
                .str(" with this `shard` takes a replicated one\neach rank would compute with its own share only\nhelp: `shard = row` takes a sharded value"),
            Wrong::NeedsSharded => text
                .str("MPK-E0150: ")
                .str(from)
                .str(" gives a replicated value, ")
                .str(sig.name)
                .str(" with `shard = row` takes a sharded one\neach rank has only its columns of the weight and would read the wrong features\nhelp: shard the op before it with `shard = column`"),
            Wrong::AddedPerRank => text
                .str("MPK-E0152: ")
                .str(from)
                .str(" gives a replicated value, ")
                .str(sig.name)
                .str(" with `shard = row` adds it to a partial one\nwhat every rank has in full would be added once per rank\nhelp: add it after the collective, by an op of its own"),
            Wrong::NeedsWhole => text
                .str("MPK-E0150: ")
                .str(from)
                .str(" gives a sharded value, ")
                .str(sig.name)
                .str(" needs whole rows\neach rank would reduce over its own share only\nhelp: end the sharded stretch with `shard = row` and `all_reduce` first"),
        }
    }
}

/// Whether two expressions have a symbol in common.
const fn share_symbol(a: &Expr, b: &Expr) -> bool {
    match a {
        Expr::Num(_) => false,
        Expr::Sym(name) => mentions(b, name),
        Expr::Add(x, y) | Expr::Mul(x, y) | Expr::Div(x, y) | Expr::DivCeil(x, y) => share_symbol(x, b) || share_symbol(y, b),
    }
}

const fn mentions(expr: &Expr, name: &str) -> bool {
    match expr {
        Expr::Num(_) => false,
        Expr::Sym(sym) => same(sym, name),
        Expr::Add(x, y) | Expr::Mul(x, y) | Expr::Div(x, y) | Expr::DivCeil(x, y) => mentions(x, name) || mentions(y, name),
    }
}
