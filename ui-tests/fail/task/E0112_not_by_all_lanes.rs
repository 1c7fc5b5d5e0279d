//! Sums over lanes of which some do not take part.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = T)]
fn half(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, 1)]>) {
    consumer! {
        dep_wait();
        for (uint32_t t = task.first_tile + role_warp(); t < task.first_tile + task.tiles; t += role_warps()) {
            float sum = 0;
            for (uint32_t n = lane(); n < N; n += 32) sum += lane_sum<32>(x.at(t, n));
            if (lane() < 16) sum = lane_sum<16>(sum);
            y.store(t, 0, sum);
        }
    }
    reference! {}
}

fn main() {}
