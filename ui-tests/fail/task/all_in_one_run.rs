//! Every problem of a task in one run, those of its reference too, and no second error where it is used.

use mpk_runtime::{mpk_task, op, task_table};

#[mpk_task(roles(consumer(groups = 9)), smem(scratch(part: [f32; 16]), align = 3), tiles = N / 16, tokens = 17)]
fn broken(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        __shared__ float s[4];
        __syncthreads();
        y.store(0, threadIdx.x, x.at(0, 0));
    }
    reference! { no_such_function(); }
}

op! { pub uses = broken -> broken }

pub static TASKS: &[&mpk_runtime::task::TaskDef] = task_table! { broken };

const _: () = assert!(<broken as mpk_runtime::task::Task>::TASK.signature.broken);

fn main() {}
