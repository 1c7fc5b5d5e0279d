// Loads, stores, barriers and copies, each with the order that it gives.
#pragma once
#include "mpk/base.cuh"

namespace mpk {

/// Who sees a counter: the workers of one GPU, or of all.
enum Scope : uint32_t { GPU = 0, SYS = 1 };

// Acquire: what the writer released with the value read is visible to this thread, and by a barrier after it to the others.
MPK_DEVICE uint32_t load_acquire(const uint32_t* p, uint32_t scope) {
    uint32_t v;
    if (scope == SYS) {
        asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    } else {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    }
    return v;
}

MPK_DEVICE uint64_t load_acquire(const uint64_t* p) {
    uint64_t v;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
}

// Relaxed: only the word itself. For flags that order nothing.
MPK_DEVICE uint32_t load_relaxed(const uint32_t* p) {
    uint32_t v;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

// Release: the writes of this thread, and those of others that a barrier ordered before it, are visible to whoever acquires the
// value. The barrier makes it cumulative, so that one arrival stands for all threads of the worker.
MPK_DEVICE void add_release(uint32_t* p, uint32_t v, uint32_t scope) {
    if (scope == SYS) {
        asm volatile("red.release.sys.global.add.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
    } else {
        asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
    }
}

// Relaxed: a flag that orders nothing.
MPK_DEVICE void store_relaxed(uint32_t* p, uint32_t v) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

// Relaxed: a count; what is read by it is ordered by a barrier or an edge.
MPK_DEVICE void add_relaxed(uint64_t* p, uint64_t v) {
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

MPK_DEVICE void store_release(uint64_t* p, uint64_t v) {
    asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

// To the host: it reads the word with acquire, and then what was written before.
MPK_DEVICE void store_release_sys(uint32_t* p, uint32_t v) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

// Plain loads of activations and state. They are weak: an acquire before them orders them, which also keeps the first-level
// cache from answering with older lines. Volatile, so that the compiler leaves them after that acquire; never `.nc`.
template <class E> MPK_DEVICE E load_plain(const E* p);
template <> MPK_DEVICE bf16 load_plain(const bf16* p) {
    bf16 v;
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(v.bits) : "l"(p));
    return v;
}
template <> MPK_DEVICE float load_plain(const float* p) {
    float v;
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(p));
    return v;
}
template <> MPK_DEVICE uint32_t load_plain(const uint32_t* p) {
    uint32_t v;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
}
template <> MPK_DEVICE uint64_t load_plain(const uint64_t* p) {
    uint64_t v;
    asm volatile("ld.global.u64 %0, [%1];" : "=l"(v) : "l"(p));
    return v;
}
template <> MPK_DEVICE uint4 load_plain(const uint4* p) {
    uint4 v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}

// A hint: the line comes to the second-level cache. It reads nothing, so no order is needed.
MPK_DEVICE void prefetch(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

// Named barriers: they order all memory accesses among their threads. Barrier 0 is that of the whole block, used at entry only.
MPK_DEVICE void barrier(uint32_t id, uint32_t threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

MPK_DEVICE uint32_t shared_address(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }

MPK_DEVICE void mbarrier_init(uint64_t* b, uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(arrivals) : "memory");
}

// The initialised barriers are visible to the copy engine, which is another proxy.
MPK_DEVICE void mbarrier_init_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// Release at the scope of the block: the reads of a page by this lane, and by those that `__syncwarp` joined to it, are done
// before the loader that waits for this phase has the page overwritten.
MPK_DEVICE void mbarrier_arrive(uint64_t* b) {
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(shared_address(b)) : "memory");
}

MPK_DEVICE void mbarrier_expect(uint64_t* b, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(b)), "r"(bytes)
                 : "memory");
}

// Acquire: when the phase is complete, the bytes that the copy engine counted on this barrier are visible, without a proxy
// fence, since the completion of a bulk copy is itself a release to those who wait on its barrier.
// One try, which the hardware may hold back for a while.
MPK_DEVICE bool mbarrier_try(uint64_t* b, uint32_t phase) {
    uint32_t done;
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%1], %2;\n"
        "selp.u32 %0, 1, 0, done;\n"
        "}" : "=r"(done) : "r"(shared_address(b)), "r"(phase) : "memory");
    return done != 0;
}
// For what comes by itself, such as a copy that was issued.
MPK_DEVICE void mbarrier_wait(uint64_t* b, uint32_t phase) {
    while (!mbarrier_try(b, phase)) {}
}

// Reads weights and plan tables only: they are written before the launch, which orders them before every proxy.
MPK_DEVICE void bulk_copy(void* to, const void* from, uint32_t bytes, uint64_t* done) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(done))
                 : "memory");
}

// An asynchronous copy of 16 bytes in the generic proxy; only the first `valid` bytes are read, the rest becomes zero. It goes
// past the first-level cache.
MPK_DEVICE void copy_async(void* to, const void* from, uint32_t valid) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(valid) : "memory");
}
MPK_DEVICE void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// The copies of this thread but for the last `OPEN` groups are done; a `__syncwarp` after it makes them visible to the warp.
template <int OPEN> MPK_DEVICE void copy_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(OPEN) : "memory"); }

MPK_DEVICE uint64_t nanoseconds() {
    uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

}  // namespace mpk
