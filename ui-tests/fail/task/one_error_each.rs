//! One error for one mistake: what is left is still read, and what it imports is used.

use mpk_runtime::mpk_task;
use mpk_runtime::reference::dot;

mod others {
    use mpk_runtime::mpk_task;

    #[mpk_task(roles(consumer), tiles = N / 16)]
    pub fn first(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
        consumer! { dep_wait(); y.store(0, 0, x.at(0, 0)); }
        reference! {}
    }
}

use others::first;

#[mpk_task(roles(consumer),, tiles = N / 16)]
fn two_commas(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0)); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn two_commas_in_a_shape(x: In<[bf16; (T,, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, x.at(0, 0)); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16, fuses(first))]
fn in_a_loop(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        for (uint32_t t = 0; t < T; ++t) {
            dep_wait();
            y.store(t, 0, x.at(t, 0));
        }
    }
    reference! { y.set(0, 0, dot(&x.row(0), 1)); }
}

fn main() {}
