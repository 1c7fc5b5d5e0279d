//! Named barriers, the task's own indices, and whole loops over pages: one for each weight, in the order of the signature.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer(groups = 2)), smem(scratch(part: [f32; 8 * 16 * 16]), align = 1024), tiles = N / 16, tokens = 16)]
pub fn linear(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[Y; (T, N)]>) {
    consumer! {
        #define UNROLL _Pragma("unroll")
        dep_wait();
        auto inputs = x.load(w);
        StripSum sum(part);
        for (auto page : w.pages()) {
            UNROLL for (uint32_t i = 0; i < 4; ++i) { if (i == lane()) break; }
            sum.add(page, inputs);
            if (!page.last) [[likely]] { continue; }
            auto value = [&](uint32_t t, uint32_t n) { return sum.at(t, n); };
            sum.join([&] { groups_sync(); });
            for (uint32_t i = role_thread(); i < T * 16; i += role_threads()) {
                if (page.row + i % 16 < N) y.store(i / 16, page.row + i % 16, value(i / 16, i % 16));
            }
            __syncwarp();
        }
        role_sync();
        asm volatile("{\n\tbar.warp.sync 0xffffffff;\n}");
        return;
    }
    reference! {}
}

#[mpk_task(roles(consumer(groups = 2)), smem(scratch(part: [f32; 8 * 16 * 16]), align = 1024), tiles = N / 16)]
pub fn two_weights(x: In<[bf16; (T, K)]>, a: Weight<[W; (N, K)]>, b: Weight<[W; (N, K)]>, y: Out<[f32; (T, N)]>) {
    consumer! {
        #define EACH(matrix) for (auto page : matrix.pages())
        dep_wait();
        float total = 0;
        EACH(a) { total += float(page.fragment(page.begin).x); }
        EACH(b) { total += float(page.fragment(page.begin).x); }
        // A name that the kernel has too, of the body's own.
        auto finish = [&](float v) { y.store(0, role_thread() % N, v); };
        finish(total);
    }
    reference! {}
}
