//! The same in a file: the error says where in it. A macro of the file hides nothing.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn early(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer!("E0103_in_a_file.cuh");
    reference! {}
}

fn main() {}
