//! The same in a file, behind a macro.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn block_wide(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer!("E0112_in_a_file.cuh");
    reference! {}
}

fn main() {}
