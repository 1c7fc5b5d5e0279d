//! Symbols that get a value: by themselves in an input, as one of its parts, from a parameter, from the plan, or from the task before.

use mpk_runtime::{mpk_task, op};

#[mpk_task(roles(consumer), tiles = M.div_ceil(4))]
pub fn first(x: In<[bf16; (T, Q + 2 * KV)]>, kv: State<[bf16; (P / 64, 1, 64, KV)]>, M: Param<u32>, y: Out<[bf16; (T, Q / M)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0) + kv.at(0, 0, 0, 0)); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = KV, inherits(Q, KV, M))]
pub fn second(x: In<[bf16; (T, Q / M)]>, y: Out<[bf16; (T, KV)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0)); }
    reference! {}
}

/// `P` is a symbol like any other where an input binds it.
#[mpk_task(roles(consumer), tiles = P)]
pub fn own(x: In<[bf16; (T, P)]>, y: Out<[bf16; (T, P)]>) {
    consumer! { dep_wait(); static_assert(P == 128, "as the input says"); y.store(0, 0, x.at(0, P - 1)); }
    reference! {}
}

op! { pub both = first -> second }
