//! Barriers that some threads do not come by, or come by another number of times.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer(groups = 2)), tiles = N / 16)]
fn in_a_branch(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        const uint32_t warp = role_warp();
        if (warp == 0) {
            groups_sync();
        } else if (T > 1) {
            role_sync();
        }
        y.store(0, 0, x.at(0, 0));
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn in_a_loop(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        for (uint32_t n = role_thread(); n < N; n += role_threads()) {
            y.store(0, n, x.at(0, n));
            groups_sync();
        }
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn after_a_jump(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        for (uint32_t t = 0; t < T; ++t) {
            if (lane() != 0) continue;
            y.store(t, 0, x.at(t, 0));
            role_sync();
        }
        if (role_thread() >= 32) return;
        groups_sync();
    }
    reference! {}
}

#[mpk_task(roles(consumer), smem(scratch(part: [f32; 16])), tiles = N / 16)]
fn by_data(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait();
        float largest = 0;
        for (uint32_t n = lane(); n < N; n += 32) largest = fmaxf(largest, x.at(0, n));
        auto join = [&] { groups_sync(); };
        if (largest > 1) join();
        part[role_warp()] = largest;
        join();
        while (part[0] > 1) { join(); part[0] /= 2; }
        y.store(0, 0, part[0]);
    }
    reference! {}
}

#[mpk_task(roles(consumer), grid)]
fn of_the_grid(x: In<[bf16; (T, N)]>, at: TaskOffset, y: Out<[bf16; (T, 1)]>) {
    consumer! {
        dep_wait();
        for (uint32_t n = role_thread(); n < N; n += role_threads()) grid_barrier();
        y.store(0, 0, x.at(0, at.index));
    }
    reference! { phase {} phase {} }
}

fn main() {}
