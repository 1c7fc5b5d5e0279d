//! Ops of tasks, by path, public and documented or not.

#![deny(warnings, missing_docs)]

use mpk_runtime::task::{Op, TaskDef};
use mpk_runtime::{op, task_table};

mod tasks {
    use mpk_runtime::mpk_task;

    /// The first.
    #[mpk_task(roles(consumer), tiles = N / 16)]
    pub fn first(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
        consumer! { dep_wait(); y.store(0, 0, 0.0f); }
        reference! {}
    }

    #[mpk_task(roles(consumer), tiles = N / 16, additive(x), fuses(first -> first))]
    pub(crate) fn second(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
        consumer! { dep_wait(); y.store(0, 0, 0.0f); }
        reference! {}
    }
}

op! {
    /// Both.
    pub both = tasks::first -> tasks::second;
    again = tasks::second;
    #[cfg(any())]
    nowhere = tasks::no_such_task
}

#[mpk_runtime::mpk_task(roles(consumer), tiles = N / 16, fuses(no_such_op))]
#[cfg(any())]
fn not_compiled(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! { no_such_function(); }
}

/// All.
pub static TASKS: &[&TaskDef] = task_table! { tasks::first, self::tasks::second, };

const _: () = assert!(again::DEF.stages.len() == 1 && both::DEF.stages.len() == 2 && TASKS.len() == 2);
