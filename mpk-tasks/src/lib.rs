//! The tasks of the dense decoder families: one folder a task, holding its declaration, its Rust reference, its CUDA C++
//! and its check against a definition.
//!
//! A new task is a folder here and a line in the table below.

use mpk_runtime::check::Check;
use mpk_runtime::task::Op;
use mpk_runtime::{op, task_table};

/// Declares the modules, the names, the registration table and the checks of all tasks from one list.
macro_rules! tasks {
    ($($name:ident),* $(,)?) => {
        #[path = "."]
        mod tasks {
            $(pub mod $name;)*
        }
        $(pub use tasks::$name::$name;)*

        /// Every task of this crate, for listing and peepholes.
        pub static TASKS: &[&mpk_runtime::task::TaskDef] = task_table! { $($name),* };

        /// How each of them is checked.
        pub static CHECKS: &[Check] = &[$(Check { op: <$name as Op>::DEF, cases: tasks::$name::check::cases }),*];
    };
}

tasks! {
    add,
    all_reduce,
    argmax_grid,
    argmax_partial,
    argmax_reduce,
    attention_merge,
    attention_partial,
    embedding,
    linear_residual,
    linear_v3,
    norm_linear,
    norm_swiglu,
    rmsnorm,
    silu_mul,
    tensor_init,
}

op! {
    /// Attention over the paged cache and the step's own keys, with grouped queries, optional q/k norm and rope: every sequence is
    /// cut into 16 splits by its own length, and their sums are merged in order.
    pub paged_attention = attention_partial -> attention_merge
}

op! {
    /// The index of the largest feature of each row, over all ranks; the lowest index on ties.
    pub argmax = argmax_partial -> argmax_reduce
}
