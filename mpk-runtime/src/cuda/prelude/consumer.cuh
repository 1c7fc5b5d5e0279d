// The consumer role: the loop over the queue, and what every body can call.
#pragma once
#include "mpk/linear.cuh"

namespace mpk {

/// What the consumers of a worker keep from task to task.
struct Worker {
    const Params& params;
    Cursor<STAGES> ring;
    Cursor<PACKETS> packets;
    uint32_t epoch;
};

/// The tiles of a task.
struct Tiles {
    uint32_t first_tile, tiles;
};

/// The place of one instance of a grid-wide task.
struct TaskOffset {
    uint32_t index, count;
};

/// Barrier 1 joins all consumers of the kernel, 2 those of a task with fewer groups, 3 and above one group each.
MPK_DEVICE void consumers_sync() { barrier(1, GROUPS * 128); }

/// The base of every consumer body; `TASK_GROUPS` groups of 128 threads run it together.
template <uint32_t TASK_GROUPS> class Consumer {
  public:
    MPK_DEVICE Consumer(Worker& worker, const Packet& packet) : task{packet.first_tile, packet.tiles}, worker(worker), packet(packet) {}

    /// Thread, warp and their numbers over all groups of the task.
    static MPK_DEVICE uint32_t role_thread() { return thread(); }
    static MPK_DEVICE uint32_t role_warp() { return warp(); }
    static MPK_DEVICE constexpr uint32_t role_threads() { return TASK_GROUPS * 128; }
    static MPK_DEVICE constexpr uint32_t role_warps() { return TASK_GROUPS * 4; }

    /// Joins the threads of this group.
    static MPK_DEVICE void role_sync() { barrier(3 + thread() / 128, 128); }
    /// Joins all groups of the task.
    static MPK_DEVICE void groups_sync() {
        if (TASK_GROUPS == GROUPS) {
            consumers_sync();
        } else {
            barrier(2, TASK_GROUPS * 128);
        }
    }

    /// The point before which no activation may be touched: for all of them, or for those named.
    MPK_DEVICE void dep_wait() { wait_ports(~0u); }
    template <class... Ports> MPK_DEVICE void dep_wait(const Ports&... ports) { wait_ports((ports.bit | ...)); }

    /// Joins all workers; only in a grid-wide task. The counter's upper bit turns with each passing, so it needs no reset: the first
    /// worker adds what the others lack to half of the range.
    MPK_DEVICE void grid_barrier() {
        groups_sync();
        if (role_thread() == 0) {
            uint32_t* counter = worker.params.grid_barrier;
            const uint32_t before = load_relaxed(counter);
            // Release: the barrier above put all writes of this worker before the arrival.
            add_release(counter, blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1, GPU);
            // Acquire: with the turn come the writes of all workers; the barrier below passes them on.
            const Site site = {GRID, packet.op, 0, gridDim.x, worker.epoch};
            wait_until(site, [&](uint32_t&) { return ((load_acquire(counter, GPU) ^ before) & 0x80000000u) != 0; });
        }
        groups_sync();
    }

    const Tiles task;

  protected:
    Worker& worker;
    const Packet& packet;

    MPK_DEVICE const Route& route(uint32_t port) const { return packet.at<Route>(packet.routes)[port]; }
    MPK_DEVICE const Segment* segment(uint32_t index) const { return packet.at<Segment>(packet.segments) + index; }

  private:
    MPK_DEVICE void wait_ports(uint32_t ports) {
        if (role_warp() == 0) {
            const Wait* waits = packet.at<Wait>(packet.waits);
            for (uint32_t i = lane(); i < packet.wait_count; i += 32) {
                if (waits[i].ports & ports) wait_for(waits[i], worker.epoch, packet.op, i);
            }
        }
        // The acquire of each polling lane is passed on to all threads of the task: a barrier orders, and causality is transitive.
        groups_sync();
    }
};

/// Runs the task of a packet: generated, one case for each task of the plan.
MPK_DEVICE void dispatch(Worker& worker, const Packet& packet);

/// The end of a task: its stores are done, so its counters may be told.
MPK_DEVICE void finish(Worker& worker, const Packet& packet) {
    // All stores of all threads come before the barrier, and the barrier before the release of one thread.
    consumers_sync();
    if (warp() == 0) {
        const Trigger* triggers = packet.at<Trigger>(packet.triggers);
        for (uint32_t i = lane(); i < packet.trigger_count; i += 32) {
            add_release(reinterpret_cast<uint32_t*>(triggers[i].counter), 1, triggers[i].scope);
        }
        // Nobody reads the packet any more: the others passed the barrier, this warp joins here.
        __syncwarp();
        if (lane() == 0) mbarrier_arrive(&shared().packet_empty[worker.packets.stage]);
    }
    worker.packets.advance();
}

/// Waits for a step and copies its rows; false if there is none.
MPK_DEVICE bool begin_step(const Params& params, uint32_t epoch) {
    Shared& s = shared();
    if (warp() == 0) {
        bool run = true;
        if (lane() == 0) {
            run = step_begins(params, epoch);
            s.run[epoch % 2] = run;
        }
        // Lane 0 acquired the head; this passes the record on to the other lanes.
        __syncwarp();
        const uint4* record = reinterpret_cast<const uint4*>(params.records + epoch % 2);
        if (lane() < sizeof(Record) / 16) reinterpret_cast<uint4*>(&s.record)[lane()] = load_plain(record + lane());
    }
    consumers_sync();
    return s.run[epoch % 2] != 0;
}

/// The consumers of a worker, from launch to exit.
MPK_DEVICE void consume(const Params& params) {
    Worker worker{params, {}, {}, params.epoch + 1};
    for (; begin_step(params, worker.epoch); ++worker.epoch) {
        for (uint32_t i = 0; i < shared().packet_count; ++i) {
            // No limit: the packet loader waits for nothing but the end of tasks, and every task ends.
            mbarrier_wait(&shared().packet_full[worker.packets.stage], worker.packets.phase);
            const Packet& packet = *packet_at(worker.packets.stage);
            if (thread() == 0) shared().running = {packet.op, worker.epoch};
            dispatch(worker, packet);
            finish(worker, packet);
        }
    }
}

}  // namespace mpk
