//! Tasks that give a check's inputs: what lies in their state, which the check writes before each step.

use crate::graph::Input;
use crate::mpk_task;
use crate::shape::Elem;
use crate::task::{Op, OpDef};

/// The op that gives values of `elem` in these parts, and its parameters; none for what no task takes.
pub(super) fn feed(elem: Elem, parts: &[usize]) -> Option<(OpDef, Vec<(&'static str, Input)>)> {
    let op = match (elem, parts.len()) {
        (Elem::Bf16, 1) => feed_bf16::DEF,
        (Elem::Bf16, 2) => feed_pair::DEF,
        (Elem::Bf16, 3) => feed_triple::DEF,
        (Elem::F32, 1) => feed_f32::DEF,
        (Elem::U64, 1) => feed_u64::DEF,
        _ => return None,
    };
    let mut numbers = vec![("N", Input::from(parts.iter().sum::<usize>()))];
    if parts.len() > 1 {
        numbers.extend(["A", "B", "C"].into_iter().zip(parts).map(|(name, part)| (name, Input::from(*part))));
    }
    Some((op, numbers))
}

/// `y = held`, in bf16.
#[mpk_task(roles(consumer(groups = 2)), tiles = N / 64)]
fn feed_bf16(N: Param<u32>, held: State<[bf16; (1, 1, 16, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer!("feed.cuh");
    reference! {
        for t in y.rows() {
            for n in y.range() {
                y.set(t, n, held.at(&[0, 0, t], n));
            }
        }
    }
}

/// `y = held`, in f32.
#[mpk_task(roles(consumer(groups = 2)), tiles = N / 64)]
fn feed_f32(N: Param<u32>, held: State<[f32; (1, 1, 16, N)]>, y: Out<[f32; (T, N)]>) {
    consumer!("feed.cuh");
    reference! {
        for t in y.rows() {
            for n in y.range() {
                y.set(t, n, held.at(&[0, 0, t], n));
            }
        }
    }
}

/// `y = held`, in words.
#[mpk_task(roles(consumer(groups = 2)), tiles = N / 64)]
fn feed_u64(N: Param<u32>, held: State<[u64; (1, 1, 16, N)]>, y: Out<[u64; (T, N)]>) {
    consumer!("feed.cuh");
    reference! {
        for t in y.rows() {
            for n in y.range() {
                y.set_word(t, n, held.word(t * N as usize + n));
            }
        }
    }
}

/// `y = held`, in bf16 and two parts.
#[mpk_task(roles(consumer(groups = 2)), tiles = N / 64)]
fn feed_pair(N: Param<u32>, A: Param<u32>, B: Param<u32>, held: State<[bf16; (1, 1, 16, N)]>, y: Out<[bf16; (T, A + B)]>) {
    consumer!("feed.cuh");
    reference! {
        for t in y.rows() {
            for n in y.range() {
                y.set(t, n, held.at(&[0, 0, t], n));
            }
        }
    }
}

/// `y = held`, in bf16 and three parts.
#[mpk_task(roles(consumer(groups = 2)), tiles = N / 64)]
fn feed_triple(
    N: Param<u32>,
    A: Param<u32>,
    B: Param<u32>,
    C: Param<u32>,
    held: State<[bf16; (1, 1, 16, N)]>,
    y: Out<[bf16; (T, A + B + C)]>,
) {
    consumer!("feed.cuh");
    reference! {
        for t in y.rows() {
            for n in y.range() {
                y.set(t, n, held.at(&[0, 0, t], n));
            }
        }
    }
}
