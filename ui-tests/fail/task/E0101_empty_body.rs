//! A body of comments and semicolons is empty, inline and in a file.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn nothing(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        // dep_wait();
        ;
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn nothing_in_a_file(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer!("E0101_empty_body.cuh");
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn braces(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        {}
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn leaves_at_once(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        return;
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn ends(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); if (lane() == 0) asm volatile("exit;"); __trap(); y.store(0, 0, 0.0f); }
    reference! {}
}

fn main() {}
