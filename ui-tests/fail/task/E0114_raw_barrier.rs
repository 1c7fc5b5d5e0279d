//! Barriers by hand.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn by_hand(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        for (auto p : w.pages()) {
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(p.barrier));
            mbarrier_arrive(p.barrier);
        }
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

fn main() {}
