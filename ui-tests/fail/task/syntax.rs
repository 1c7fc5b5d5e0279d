//! What is no signature of a task: near names are suggested.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer(group = 2)), tile = N / 16)]
fn options(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N - 1)]
fn ports(x: In<[fp16; (T, N)]>, w: Wieght<[W; (N,)]>, k: Param<bool>, r: In<[bf16; N]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer), additive(z))]
fn names(int: In<[bf16; (T, N)]>, a: Rows, b: Out<[bf16; (T, a)]>) {
    consumer! { dep_wait(); b.store(0, 0, 0.0f); }
    reference! { phase {} phase {} }
}

#[mpk_task(roles(consumer), tiles = N)]
fn bodies(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    let a = 1;
    consumr! { dep_wait(); }
    consumer!("missing.cuh");
}

#[mpk_task(roles(consumer), tiles = N)]
fn misspelt_reference(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    refrence! {}
}

#[mpk_task(roles(consumer(registers = 232, groups = 1, groups = 2)), smem(align = 16, align = 32), tiles = N)]
fn twice(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { y.store(0, 0, x.at(0, 0)); dep_wait(); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = static_cast)]
fn reserved(packet: In<[T; (T, static_cast)]>, y: Out<[T; (T, static_cast)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! {}
}

mpk_runtime::op! {
    pub fine = bodies -> bodies;
    pub typo == bodies;
    pub also_fine = bodies
}

#[mpk_task(roles(consumer), tiles = N)]
struct NoFunction;

fn main() {}
