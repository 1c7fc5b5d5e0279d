// The controller: one warp of the first worker. It reads the mailbox once a step and publishes what all roles act on.
#pragma once
#include "mpk/worker.cuh"

namespace mpk {

/// Waits up to the idle limit for the next command; false if none comes or the host asks to stop. All lanes.
MPK_DEVICE bool next_command(const Params& params, uint32_t completed) {
    bool found = false;
    if (lane() == 0) {
        const uint64_t begin = nanoseconds();
        for (;;) {
            // Acquire: with the count come the commands up to it.
            found = int32_t(load_acquire(&params.inbox->posted, SYS) - completed) > 0;
            if (found || load_acquire(&params.inbox->stop, SYS) != 0 || nanoseconds() - begin > params.idle_ns) break;
        }
    }
    // Lane 0 passes the command on to the others.
    __syncwarp();
    return __shfl_sync(ALL_LANES, found, 0);
}

/// What a step sampled, until the host is told.
struct Sampling {
    /// The step, its rows that sampled, by bit, and this lane's of them.
    uint32_t epoch = 0, rows = 0;
    Sampled own{};
    /// Whether its command is complete with it, and whether the host knows.
    bool last = false, told = true;
};

/// Tells the host, over a slow bus: while the next step runs, or before a wait for the host. All lanes.
MPK_DEVICE void tell(const Params& params, Sampling& sampling, uint32_t& written) {
    if (sampling.told) return;
    Output& output = params.outputs[written % params.outputs_len];
    if (sampling.rows >> lane() & 1) {
        const Sampled& own = sampling.own;
        const uint4 words = {own.slot, own.position, own.token, 0};
        *reinterpret_cast<uint4*>(&output.tokens[__popc(sampling.rows & ((1u << lane()) - 1))]) = words;
    }
    if (lane() == 0) {
        output.count = __popc(sampling.rows);
        output.last = sampling.last;
        output.epoch = sampling.epoch;
    }
    ++written;
    // The output is written by all lanes before lane 0 releases its count to the host.
    __syncwarp();
    if (lane() == 0) store_release_sys(&params.outbox->written, written);
    sampling.told = true;
}

/// The controller, from launch to exit. Lane `t` keeps row `t`, and stop token `t` of the command.
MPK_DEVICE void control(const Params& params) {
    uint32_t epoch = params.epoch, completed = params.completed, written = params.written;
    uint32_t count = 0, steps = 0, stop_count = 0, stop_token = 0;
    bool stop = false;
    Sampling sampling;
    for (;;) {
        Record& record = params.records[(epoch + 1) % 2];
        bool go = __shfl_sync(ALL_LANES, !stop && !aborted(), 0);
        if (go && count == 0) {
            tell(params, sampling, written);
            go = next_command(params, completed);
            if (go) {
                const Command& command = params.inbox->commands[completed % COMMANDS];
                count = smaller(load_plain(&command.count), MAX_STEP_ROWS);
                steps = load_plain(&command.steps);
                stop_count = smaller(load_plain(&command.stop_count), MAX_STOPS);
                if (lane() < MAX_STOPS) stop_token = load_plain(&command.stops[lane()]);
                if (lane() < count) {
                    const uint4 row = load_plain(reinterpret_cast<const uint4*>(&command.rows[lane()]));
                    *reinterpret_cast<uint4*>(&record.rows[lane()]) = row;
                }
            }
        }
        if (lane() == 0) record.count = count;
        // The lanes' writes come before lane 0's release of the head, and so did the acquires of the boundary: whoever acquires
        // the head has the record and everything of the steps before. The record of two steps ago is overwritten; its readers
        // were done before the boundary of the last step.
        __syncwarp();
        if (lane() == 0) store_release(params.head, uint64_t(epoch + 1) << 32 | (go ? 0 : 1));
        if (!go) break;
        ++epoch;
        // The step runs: time for the host.
        tell(params, sampling, written);
        if (lane() == 0) stop = load_acquire(&params.inbox->stop, SYS) != 0;

        for (uint32_t i = lane(); i < params.boundary_count; i += 32) wait_for(params.boundary[i], epoch, NO_OP, i);
        // The lanes acquired the counters; this passes what came with them on to all lanes.
        __syncwarp();
        // All loads before the first use: what they take is on the path of every token.
        uint4 words{};
        uint32_t token = 0;
        if (lane() < count) {
            words = load_plain(reinterpret_cast<const uint4*>(&record.rows[lane()]));
            if (params.sampled != nullptr) token = load_plain(params.sampled + lane() + (epoch & 1 ? params.sampled_parity / 4 : 0));
        }
        // After a fault the step has given nothing: the host learns it from the end of the kernel.
        if (__shfl_sync(ALL_LANES, aborted(), 0)) continue;
        const Row row = {words.x, words.y, words.z, words.w};
        sampling.epoch = epoch;
        sampling.rows = __ballot_sync(ALL_LANES, lane() < count && (row.flags & SAMPLE) != 0);
        sampling.own = {row.slot, row.position + 1, token, 0};
        bool ended = steps <= 1;
        for (uint32_t i = 0; i < stop_count; ++i) ended |= __shfl_sync(ALL_LANES, stop_token, i) == token;
        // The rows of the next step: those that sampled, unless the command or the sequence ends.
        const bool keep = (sampling.rows >> lane() & 1) && !ended;
        const uint32_t kept = __ballot_sync(ALL_LANES, keep);
        if (keep) {
            const uint4 words = {row.slot, row.position + 1, token, SAMPLE};
            *reinterpret_cast<uint4*>(&params.records[(epoch + 1) % 2].rows[__popc(kept & ((1u << lane()) - 1))]) = words;
        }
        count = __popc(kept);
        --steps;
        sampling.last = count == 0;
        if (count == 0) ++completed;
        sampling.told = false;
    }
    tell(params, sampling, written);
    if (lane() == 0) {
        Outbox& outbox = *params.outbox;
        outbox.completed = completed;
        outbox.epoch = epoch;
        // The host reads them when it has acquired this.
        store_release_sys(&outbox.ended, params.launch);
    }
}

}  // namespace mpk
