//! What would hide text from the checks.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn pasted(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer!("hidden.cuh");
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn another_meaning(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        #define WAIT dep_wait()
        #define WAIT
        #if 1
        #define JOIN
        #endif
        #undef WAIT
        WAIT;
        dep_wait();
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

fn main() {}
