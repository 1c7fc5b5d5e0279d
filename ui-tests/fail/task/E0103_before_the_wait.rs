//! Activations touched before the wait: read, and written.

use mpk_runtime::mpk_task;

#[mpk_task(roles(consumer), tiles = N / 16)]
fn early(x: In<[bf16; (T, K)]>, w: Weight<[W; (N, K)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        float first = w.at(0, 0) * x.at(0, 0);
        y.store(0, 0, first);
        dep_wait();
        y.store(0, 1, x.at(0, 1));
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn between_two(x: In<[bf16; (T, N)]>, r: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        dep_wait(x);
        y.store(0, 0, x.at(0, 0));
        dep_wait(r);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn by_this(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        float first = this->x.at(0, 0);
        (*this).y.store(0, 0, first);
        this->dep_wait();
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn by_another_name(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        auto& own = *this;
        own.y.store(0, 0, own.x.at(0, 0));
        dep_wait();
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn a_count(x: In<[bf16; (T, N)]>, seen: State<[u64; (1, 1, 1, 4)], monotonic>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        seen.add(0, 0, 0, 0, 1);
        dep_wait();
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn a_count_without_a_wait(w: Weight<[bf16; (N,)]>, seen: State<[u64; (1, 1, 1, 4)], monotonic>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        seen.add(0, 0, 0, 0, 1);
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

#[mpk_task(roles(consumer), tiles = N / 16)]
fn the_kernel_around(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>) {
    consumer! {
        const uint64_t address = packet.at<uint64_t>(0)[0] + worker.epoch;
        dep_wait();
        y.store(0, 0, 0.0f);
    }
    reference! {}
}

fn main() {}
