//! Composites, tables and peepholes of what is no task or op.

#![allow(non_camel_case_types)]

use mpk_runtime::{mpk_task, op, task_table};

pub struct scale;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn first(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! {}
}

op! { pub both = first -> scale }
op! { pub twice = both -> first }

pub static TASKS: &[&mpk_runtime::task::TaskDef] = task_table! { first, both };

#[mpk_task(roles(consumer), tiles = N / 16, fuses(first -> scale))]
fn fused(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! {}
}

fn main() {}
