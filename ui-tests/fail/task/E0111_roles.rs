//! Roles that do not exist, come twice, or are the runtime's; registers of other roles.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumr(groups = 2)), tiles = N / 16)]
fn misspelt(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer, consumer), tiles = N / 16)]
fn twice(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer, loader), tiles = N / 16)]
fn declared(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn with_a_body(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); y.store(0, 0, 0.0f); }
    storer! { role_sync(); }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn registers(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); asm volatile("setmaxnreg.inc.sync.aligned.u32 240;"); load_packets(0); y.store(0, 0, 0.0f); }
    reference! {}
}

fn main() {}
