//! Loops over pages that are left early, not reached, or not loops.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn leaves(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        for (auto p : w.pages()) {
            for (int i = 0; i < 4; ++i) { if (p.row == i) break; }
            if (p.last) [[unlikely]] { break; }
            if (p.first) return;
        }
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn returns(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        if (x.at(0, 0) == 0) return;
        auto first = w.pages().begin();
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

fn main() {}
