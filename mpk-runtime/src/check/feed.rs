//! Tasks that give a check's inputs: what lies in their state, which the check writes before each step.

use crate::mpk_task;
use crate::shape::Elem;
use crate::task::{Op, OpDef};

/// The op that gives values of `elem`; none for a type that no task takes.
pub(super) fn feed(elem: Elem) -> Option<OpDef> {
    match elem {
        Elem::Bf16 => Some(feed_bf16::DEF),
        Elem::F32 => Some(feed_f32::DEF),
        Elem::U64 => Some(feed_u64::DEF),
        _ => None,
    }
}

/// Defines `y = held` of one element type: a state has no other.
macro_rules! feeds {
    ($($name:ident: $elem:ident;)*) => {$(
        #[mpk_task(roles(consumer(groups = 2)), tiles = N / 64)]
        fn $name(N: Param<u32>, held: State<[$elem; (1, 1, 16, N)]>, y: Out<[$elem; (T, N)]>) {
            consumer!("feed.cuh");
            reference! {
                for t in y.rows() {
                    for n in y.range() {
                        match held.elem {
                            Elem::U64 => y.set_word(t, n, held.word(t * N as usize + n)),
                            _ => y.set(t, n, held.at(&[0, 0, t], n)),
                        }
                    }
                }
            }
        }
    )*};
}

feeds! {
    feed_bf16: bf16;
    feed_f32: f32;
    feed_u64: u64;
}
