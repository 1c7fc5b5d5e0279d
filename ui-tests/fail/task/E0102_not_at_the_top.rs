//! Waits that some threads or some tasks do not come by, or come by more than once.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn in_a_branch(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        if (role_warp() == 0) {
            dep_wait();
        }
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn in_a_loop(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        for (int tile = 0; tile < task.tiles; ++tile)
            dep_wait(x);
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn in_a_lambda(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        auto wait = [&] { dep_wait(); };
        wait();
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn in_an_expression(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        task.tiles > 0 && dep_wait();
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn after_a_return(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        if (task.tiles == 0) return;
        dep_wait();
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn behind_an_attribute(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        if (task.tiles == 0) [[unlikely]] { dep_wait(); }
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn behind_a_pragma(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        #define UNROLL _Pragma("unroll")
        UNROLL for (uint32_t t = 0; t < T; ++t) dep_wait();
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

fn main() {}
