//! Synchronisation of the whole block, in code, assembly and cooperative groups.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn block_wide(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        __syncthreads();
        int any = __syncthreads_or(x.at(0, 0) > 0.0f);
        asm volatile("bar.sync 1, 128;" ::: "memory");
        asm volatile("{ barrier" ".sync 0; }");
        cooperative_groups::this_thread_block().sync();
        asm volatile("bar.warp.sync 0xffffffff;");
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn in_pieces(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        #define SYNC ".sync 0;"
        dep_wait();
        asm volatile("{\n\tbar" SYNC "}");
        barrier(0, 384);
        consumers_sync();
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

fn main() {}
