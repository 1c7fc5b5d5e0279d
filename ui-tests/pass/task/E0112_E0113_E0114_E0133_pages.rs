//! Named barriers, the task's own indices, and whole loops over pages.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer(groups = 2)), smem(scratch(part: [f32; 8 * 16 * 16]), align = 1024), tiles = N / 16, tokens = 16)]
pub fn linear(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[Y; (T, N)]>) {
    consumer! {
        dep_wait();
        auto xs = x.load();
        int tile = task.first_tile;
        for (auto p : w.pages()) {
            for (int i = 0; i < 4; ++i) { if (i == lane()) break; }
            if (!p.useful()) continue;
            auto inner = [&] { return p.at(0); };
            part[role_thread()] += inner() * xs[0];
            __syncwarp();
        }
        role_sync();
        groups_sync();
        asm volatile("bar.warp.sync 0xffffffff;");
        y.store(0, tile * 16 + role_warp(), part[0]);
        return;
    }
    reference! {}
}
