//! Declared regions, aligned and within the budget.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), smem(scratch(a: [f32; 32 * 1024], b: [u64; 4]), align = 1024), tiles = N.div_ceil(8) / 2, tokens = 16)]
pub fn large(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        a[lane()] = float(b[0]);
        asm volatile("wgmma.fence.sync.aligned;");
        float v;
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(shared_address(a)));
        y.store(0, 0, v);
    }
    reference! {}
}

#[mpk_task(roles(consumer), smem(scratch(sums: [f32; 8])), tiles = T)]
pub fn small(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! { dep_wait(); sums[0] = 0.0f; y.store(0, 0, 0.0f); }
    reference! {}
}
