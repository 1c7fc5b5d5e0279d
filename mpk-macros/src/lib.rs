//! The proc macros of mpk.
//!
//! Thin entries: each macro is a library function from tokens to tokens, which reads (`parse`), checks (`check`) and writes
//! (`expand`), and is tested as such.

mod cpp;
mod elem;
mod errors;
mod item;
mod model;
mod op;
mod task;

use proc_macro::TokenStream;

/// Makes a task of a function: its signature are the ports, its block holds the CUDA C++ of the consumer and the Rust reference.
///
/// ```ignore
/// /// `y = x · Wᵀ`.
/// #[mpk_task(roles(consumer(groups = 2)), smem(scratch(part: [f32; 8 * 16 * 16]), align = 1024), tiles = N / 16, tokens = 16)]
/// pub fn linear_v3(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[Y; (T, N)]>) {
///     consumer!("consumer.cuh");
///     reference! { for n in y.range() { /* Rust over logical rows */ } }
/// }
/// ```
///
/// | option | what it says |
/// |---|---|
/// | `roles(consumer(groups = 2))` | the consumer has 2 groups of 128 threads, 1 to 3; the other roles are the runtime's |
/// | `tiles = N / 16` | the work is cut into tiles of 16 features; `tiles = T` cuts it by rows |
/// | `grid` | instead: one instance on each worker; the task has a port of type `TaskOffset` and may call `grid_barrier()` |
/// | `smem(scratch(part: [f32; 256]), align = 1024)` | regions of shared memory, and what their addresses are multiples of |
/// | `tokens = 16` | rows that it takes in a step, 16 at most, which is also what it takes without the option |
/// | `collective = sum`, `= gather` | its `In` is read as all ranks wrote it |
/// | `additive(x, r)` | `In`s that may be partial together: the output is then partial |
/// | `inherits(Q, KV)` | symbols that no port binds: the task before it in an `op!` has them |
/// | `once` | it runs at step 0 only: what it writes is a state that other tasks hold |
/// | `fuses(a -> b)` | it replaces this chain of ops |
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

/// Defines a language model: a type that implements `mpk_runtime::graph::Model`.
///
/// ```ignore
/// model! {
///     /// A decoder.
///     pub model Tiny(cfg: TinyConfig) {
///         dims { H = hidden_size, I = intermediate_size, V = vocab_size }
///         embedding(model.embed_tokens: [V, H]);
///         layer model.layers[i in 0..cfg.num_hidden_layers] {
///             residual {
///                 rmsnorm(norm: [H], eps = cfg.rms_norm_eps)
///                 -> linear(mlp.{gate_proj, up_proj}: [I, H], shard = column) -> silu_mul
///                 -> linear(mlp.down_proj: [H, I], shard = row, y = f32) -> all_reduce
///             }
///         }
///         linear(tied(lm_head, model.embed_tokens): [V, H], shard = column) -> argmax;
///     }
/// }
/// ```
///
/// Ops are paths of the author's scope. Weights are module paths of the checkpoint with the shapes they have there, relative to
/// the layer around. What flows by `->` is checked by symbol when the model is compiled: see the MPK-E01xx codes.
#[proc_macro]
pub fn model(tokens: TokenStream) -> TokenStream {
    model::expand(tokens.into()).into()
}
