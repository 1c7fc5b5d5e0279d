//! What must agree where values meet without an op: the ways of an `if`, a layer and the next, the members of a stack.

use super::dim::Dim;
use super::edge::{Edge, Place};
use super::infer::Inference;
use super::text::Text;

/// Where two values must be alike.
#[derive(Clone, Copy, Debug)]
pub enum Meet {
    /// At the end of an `if` or `match`.
    Ways,
    /// What a layer takes, and what it gives to the next.
    Layer,
}

impl Meet {
    const fn first(self) -> &'static str {
        match self {
            Meet::Ways => "one way ends in ",
            Meet::Layer => "the layer takes ",
        }
    }

    const fn second(self) -> &'static str {
        match self {
            Meet::Ways => ", another in ",
            Meet::Layer => " and gives ",
        }
    }

    const fn help(self) -> &'static str {
        match self {
            Meet::Ways => "\nhelp: let all ways end in the same shape; a missing `else` leaves the value as it was",
            Meet::Layer => "\nhelp: end the layer with the shape it began with",
        }
    }

    const fn help_place(self) -> &'static str {
        match self {
            Meet::Ways => "\nhelp: end each way with its own collective, or none of them",
            Meet::Layer => "\nhelp: end the layer with `-> all_reduce`",
        }
    }
}

impl Edge {
    /// Whether nothing is known of it, because of an earlier error.
    pub const fn is_unknown(&self) -> bool {
        self.elem.is_none()
    }

    /// The value after `self` and `other` have met: unknown where they differ, so that no second error follows.
    pub const fn join(self, other: Edge) -> Edge {
        match differ(&self, &other, Meet::Ways) {
            None if self.is_unknown() => other,
            None => self,
            Some(_) => Edge::UNKNOWN,
        }
    }
}

/// Fails const evaluation, at the caller, if two values that meet are not alike.
#[track_caller]
pub const fn check_meet(meet: Meet, a: &Edge, b: &Edge) {
    if let Some(error) = differ(a, b, meet) {
        panic!("{}", error.as_str());
    }
}

/// How two values differ, if they do.
const fn differ(a: &Edge, b: &Edge, meet: Meet) -> Option<Text> {
    let (Some(a_elem), Some(b_elem)) = (a.elem, b.elem) else { return None };
    let e0140 = Text::new().str("MPK-E0140: ").str(meet.first());
    let gpu = "\non the GPU what follows is compiled for one of them and would read the other wrongly";
    if !a.rows.same(&b.rows) {
        let text = b.rows.write(a.rows.write(e0140).str(" rows").str(meet.second()));
        return Some(text.str(" rows").str(gpu).str(meet.help()));
    }
    if !same_parts(a, b) {
        let text = b.parts.write(a.parts.write(e0140).str(" features").str(meet.second()));
        let text = text.str(" features");
        let text = if a.parts.total().same(&b.parts.total()) { text.str(", in other parts") } else { text };
        return Some(text.str(gpu).str(meet.help()));
    }
    if !a_elem.same(b_elem) {
        return Some(e0140.str(a_elem.name()).str(meet.second()).str(b_elem.name()).str(gpu).str(meet.help()));
    }
    if !a.place.same(b.place) {
        let text = Text::new().str("MPK-E0150: ").str(meet.first()).str("a ").str(a.place.name()).str(" value");
        let text = text.str(meet.second()).str("a ").str(b.place.name()).str(" one");
        return Some(text.str("\nwith more than one rank what follows can be right for one of them only").str(meet.help_place()));
    }
    None
}

const fn same_parts(a: &Edge, b: &Edge) -> bool {
    if a.parts.total().is_opaque() || b.parts.total().is_opaque() {
        return true;
    }
    if a.parts.len() != b.parts.len() {
        // The parts matter to the shares of a sharded value only.
        return !a.place.same(Place::Sharded) && a.parts.total().same(&b.parts.total());
    }
    let mut i = 0;
    while i < a.parts.len() {
        if !a.parts.get(i).same(&b.parts.get(i)) {
            return false;
        }
        i += 1;
    }
    true
}

/// Fails const evaluation, at the caller, if the value that a model ends with is not complete on every rank.
#[track_caller]
pub const fn check_end(from: &str, end: &Edge) {
    let said = match end.place {
        _ if end.is_unknown() => return,
        Place::Replicated => return,
        Place::Partial => {
            " that is partial over all ranks\neach rank would give its own summand: plausible text, and wrong\nhelp: end with `-> all_reduce`"
        }
        Place::Sharded => {
            " that is sharded\neach rank would give its own share only\nhelp: end with an op that gathers the shares, or leave `shard = column` out"
        }
    };
    panic!("{}", Text::new().str("MPK-E0150: the model ends with a value of ").str(from).str(said).as_str());
}

/// Fails const evaluation, at the caller, if the value that `->` leads into an op found no port there.
#[track_caller]
pub const fn check_taken(op: &str, from: &str, given: &Inference) {
    if !given.taken {
        let text = Text::new().str("MPK-E0140: no port of ").str(op).str(" is left for the value of ").str(from);
        panic!("{}", text.str("\non the GPU the value would be dropped without a word\nhelp: give one value less by name, or begin a new statement").as_str());
    }
}

/// Fails const evaluation, at the caller, if an op does not give as many values as `let` names.
#[track_caller]
pub const fn check_outs(op: &str, given: &Inference, named: usize) {
    if given.out().is_unknown() || given.len == named {
        return;
    }
    let text = Text::new().str("MPK-E0140: ").str(op).str(" gives ").int(given.len as i64);
    let text = text.str(if given.len == 1 { " value, `let` names " } else { " values, `let` names " }).int(named as i64);
    panic!("{}", text.str("\non the GPU a name would stand for memory that nothing writes\nhelp: name each value once").as_str());
}

/// Fails const evaluation, at the caller, if the weight `name` differs from dimension `skip` on from the one that it is stacked
/// with, or stands for.
#[track_caller]
pub const fn check_alike(name: &str, dims: &[Dim], other: &str, others: &[Dim], skip: usize) {
    let mut text = Text::new().str("MPK-E0140: `").str(name).str("` has ");
    let mut alike = dims.len() == others.len();
    if !alike {
        text = text.int(dims.len() as i64).str(" dimensions where `").str(other).str("` has ").int(others.len() as i64);
    }
    let mut i = skip;
    while alike && i < dims.len() {
        if !dims[i].same(&others[i]) {
            text = others[i].write(dims[i].write(text).str(" where `").str(other).str("` has "));
            alike = false;
        }
        i += 1;
    }
    if !alike {
        let text = text.str("\non the GPU the rows of one would be read with the stride of the other");
        panic!(
            "{}",
            text.str(
                "\nhelp: give them the shapes that they have in the checkpoint; a stack is of weights alike but for their rows"
            )
            .as_str()
        );
    }
}
