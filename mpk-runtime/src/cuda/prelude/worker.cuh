// What the roles of a worker share: its map of shared memory, the step, the packets of its queue, and waits with an end.
// Constants in capitals that are not defined here come from the plan: `mpk/config.cuh`.
#pragma once
#include "mpk/abi.cuh"
#include "mpk/config.cuh"

namespace mpk {

extern __shared__ __align__(1024) uint8_t shared_memory[];

/// Position in a ring: both sides count alike, so that no index is ever exchanged.
template <uint32_t DEPTH> struct Cursor {
    uint32_t stage = 0, phase = 0;
    MPK_DEVICE void advance() {
        if (++stage == DEPTH) {
            stage = 0;
            phase ^= 1;
        }
    }
};

/// Words between the roles of a worker.
struct Shared {
    /// Of the stage ring: bytes have come, and readers have gone.
    uint64_t full[STAGES], empty[STAGES];
    /// Likewise for the packets of the queue.
    uint64_t packet_full[PACKETS], packet_empty[PACKETS];
    /// The rows of the step, copied here by the consumers.
    __align__(16) Record record;
    /// Whether the step is run, by parity: a worker without tasks has no other barrier between two steps.
    uint32_t run[2];
    /// Tasks of this worker's queue.
    uint32_t packet_count;
    /// The task that the consumers run, and its step: for reports of those who don't keep them.
    uint2 running;
    /// Where this worker reports faults, what says that anybody did, and the longest wait of a step.
    Fault* faults;
    uint32_t* any_fault;
    uint64_t watchdog_ns;
    /// Not zero once a thread of this worker knows of a fault.
    uint32_t aborted;
    __align__(128) uint8_t packets[PACKETS][PACKET_BYTES];
};
static_assert(sizeof(Shared) <= BARRIERS_BYTES, "the region `barriers` of the plan is too small for this kernel");

MPK_DEVICE Shared& shared() { return *reinterpret_cast<Shared*>(shared_memory + BARRIERS_AT); }
MPK_DEVICE uint8_t* page_at(uint32_t stage) { return shared_memory + RING_AT + stage * PAGE_BYTES; }
MPK_DEVICE const Packet* packet_at(uint32_t stage) { return reinterpret_cast<const Packet*>(shared().packets[stage]); }

/// Once, by one thread, before the roles part.
MPK_DEVICE void init_shared(const Params& params) {
    Shared& s = shared();
    s.packet_count = params.queues[blockIdx.x].packet_count;
    s.faults = params.faults + blockIdx.x * FAULT_ROLES;
    s.any_fault = params.aborted;
    s.watchdog_ns = params.watchdog_ns;
    s.aborted = 0;
    for (uint32_t i = 0; i < STAGES; ++i) {
        mbarrier_init(&s.full[i], 1);
        mbarrier_init(&s.empty[i], WARPS);
    }
    for (uint32_t i = 0; i < PACKETS; ++i) {
        mbarrier_init(&s.packet_full[i], 1);
        mbarrier_init(&s.packet_empty[i], 1);
    }
    mbarrier_init_fence();
}

/// Whether something went wrong anywhere. Relaxed: nothing is read because of it, waiting only ends.
MPK_DEVICE bool aborted() { return load_relaxed(shared().any_fault) != 0; }

/// A wait as it is reported. That of a consumer for a page takes op and step from the worker.
struct Site {
    WaitKind what;
    uint32_t op, index, wanted, epoch;
};

/// Reports the first fault of a role of this worker, and ends the waits of all: only the thread that claims the record writes it,
/// and the host reads it after the kernel has ended.
MPK_DEVICE void report(FaultKind kind, const Site& site, uint32_t seen) {
    store_relaxed(shared().any_fault, 1);
    const FaultRole role = site.what != PAGE && site.op == NO_OP ? CONTROLLER : CONSUMER;
    Fault& fault = shared().faults[role];
    if (atomicCAS(&fault.kind, uint32_t(NO_FAULT), uint32_t(kind)) != NO_FAULT) return;
    const uint2 running = shared().running;
    fault.worker = blockIdx.x;
    fault.op = site.what == PAGE ? running.x : site.op;
    fault.what = site.what;
    fault.index = site.index;
    fault.wanted = site.wanted;
    fault.seen = seen;
    fault.epoch = site.what == PAGE ? running.y : site.epoch;
}

/// Tries until `done(seen)`; false if it gives up, which it reports: after the limit, or after a fault anywhere. Then all waits end
/// at once, and every role runs on to the end of the step with its barrier counts intact.
template <class Done> MPK_DEVICE bool wait_until(const Site& site, Done done) {
    constexpr uint32_t NEAR = 16, FAR = 128;
    volatile uint32_t& known = shared().aborted;
    uint64_t begin = 0;
    uint32_t seen = 0;
    for (uint32_t spins = 1; !likely(done(seen)); ++spins) {
        if (spins % NEAR != 0) continue;
        if (known == 0) {
            if (spins % FAR != 0) continue;
            const uint64_t now = nanoseconds();
            if (begin == 0) begin = now;
            if (now - begin <= shared().watchdog_ns && !aborted()) continue;
        }
        report(HANG, site, seen);
        known = 1;
        return false;
    }
    return true;
}

/// Waits for a phase of a barrier of the ring.
MPK_DEVICE bool wait_phase(const Site& site, uint64_t* barrier, uint32_t phase) {
    return wait_until(site, [&](uint32_t&) { return mbarrier_try(barrier, phase); });
}

/// Waits until a counter has what it gets in `epoch` steps. Counters only grow, and the comparison survives their wrap.
MPK_DEVICE void wait_for(const Wait& wait, uint32_t epoch, uint32_t op, uint32_t index) {
    const uint32_t* counter = reinterpret_cast<const uint32_t*>(wait.counter);
    const Site site = {COUNTER, op, index, epoch * wait.arrivals, epoch};
    wait_until(site, [&](uint32_t& seen) {
        seen = load_acquire(counter, wait.scope);
        const int32_t ahead = int32_t(seen - site.wanted);
        // Another rank may be a step ahead. On this one nobody is, while a task of this step still waits.
        if (ahead > 0 && wait.scope == GPU) report(OVERRUN, site, seen);
        return ahead >= 0;
    });
}

/// Whether the step `epoch` is to be run: waits until the controller says so. It has no limit, since an idle kernel waits here;
/// the controller always publishes an end. A head beyond `epoch` means that the step was run, so a late reader is safe.
MPK_DEVICE bool step_begins(const Params& params, uint32_t epoch) {
    for (;;) {
        // Acquire: with the head comes the record, and through the controller's waits everything of the steps before.
        const uint64_t head = load_acquire(params.head);
        const int32_t ahead = int32_t(uint32_t(head >> 32) - epoch);
        if (ahead > 0) return true;
        if (ahead == 0) return uint32_t(head) == 0;
    }
}

/// Whether the kernel ends before the step `epoch`.
MPK_DEVICE bool never_runs(const Params& params, uint32_t epoch) {
    // Acquire like that of `step_begins`, though nothing is read because of it.
    const uint64_t head = load_acquire(params.head);
    return uint32_t(head) != 0 && int32_t(uint32_t(head >> 32) - epoch) <= 0;
}

}  // namespace mpk
