//! The proc macros of mpk.
//!
//! Thin entries: each macro is a library function from tokens to tokens, which reads (`parse`), checks (`check`) and writes
//! (`expand`), and is tested as such.

mod cpp;
mod errors;
mod op;
mod task;

use proc_macro::TokenStream;

/// Makes a task of a function: its signature are the ports, its block holds CUDA C++ by role and the Rust reference.
///
/// ```ignore
/// /// `y = x · Wᵀ`.
/// #[mpk_task(roles(consumer(groups = 2)), smem(scratch(part: [f32; 8 * 16 * 16]), align = 1024), tiles = N / 16, tokens = 16)]
/// pub fn linear_v3(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[Y; (T, N)]>) {
///     consumer!("consumer.cuh");
///     reference! { for n in y.range() { /* Rust over logical rows */ } }
/// }
/// ```
#[proc_macro_attribute]
pub fn mpk_task(attribute: TokenStream, item: TokenStream) -> TokenStream {
    task::expand(attribute.into(), item.into()).into()
}

/// Names a chain of tasks as one op: `op! { /// docs  pub argmax = argmax_partial -> argmax_reduce }`.
#[proc_macro]
pub fn op(tokens: TokenStream) -> TokenStream {
    op::ops(tokens.into()).into()
}

/// Lists tasks: `pub static TASKS: &[&TaskDef] = task_table! { linear_v3, rmsnorm };`
#[proc_macro]
pub fn task_table(tokens: TokenStream) -> TokenStream {
    op::table(tokens.into()).into()
}
