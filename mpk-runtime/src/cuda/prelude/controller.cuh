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

/// Whether a step may begin: no fault, and the host does not ask to stop. All lanes.
MPK_DEVICE bool may_go_on(const Params& params) {
    bool go = true;
    if (lane() == 0) go = !aborted(params) && load_acquire(&params.inbox->stop, SYS) == 0;
    return __shfl_sync(ALL_LANES, go, 0);
}

MPK_DEVICE bool is_stop(const Command& command, uint32_t token) {
    for (uint32_t i = 0; i < command.stop_count; ++i) {
        if (load_plain(&command.stops[i]) == token) return true;
    }
    return false;
}

/// The controller, from launch to exit. Lane `t` keeps row `t`.
MPK_DEVICE void control(const Params& params) {
    uint32_t epoch = params.epoch, completed = params.completed, written = params.written;
    uint32_t count = 0, steps = 0;
    for (;;) {
        Record& record = params.records[(epoch + 1) % 2];
        const Command& command = params.inbox->commands[completed % COMMANDS];
        bool go = may_go_on(params);
        if (go && count == 0 && (go = next_command(params, completed))) {
            count = smaller(load_plain(&command.count), MAX_STEP_ROWS);
            steps = load_plain(&command.steps);
            if (lane() < count) {
                const uint4 row = load_plain(reinterpret_cast<const uint4*>(&command.rows[lane()]));
                *reinterpret_cast<uint4*>(&record.rows[lane()]) = row;
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

        for (uint32_t i = lane(); i < params.boundary_count; i += 32) wait_for(params, params.boundary[i], epoch, ~0u, i);
        // The lanes acquired the counters; this passes what came with them on to all lanes.
        __syncwarp();

        Row row{};
        uint32_t token = 0;
        if (lane() < count) {
            const uint4 words = load_plain(reinterpret_cast<const uint4*>(&record.rows[lane()]));
            row = {words.x, words.y, words.z, words.w};
            if (params.sampled != nullptr) token = load_plain(params.sampled + lane() + (epoch & 1 ? params.sampled_parity / 4 : 0));
        }
        const uint32_t sampling = __ballot_sync(ALL_LANES, lane() < count && (row.flags & SAMPLE) != 0);
        const uint32_t before = (1u << lane()) - 1;
        Output& output = params.outputs[written % params.outputs_len];
        if (sampling >> lane() & 1) {
            const uint4 words = {row.slot, row.position + 1, token, 0};
            *reinterpret_cast<uint4*>(&output.tokens[__popc(sampling & before)]) = words;
        }
        if (lane() == 0) {
            output.count = __popc(sampling);
            output.command = completed;
        }
        // The rows of the next step: those that sampled, unless the command or the sequence ends.
        const bool keep = (sampling >> lane() & 1) && steps > 1 && !is_stop(command, token);
        const uint32_t kept = __ballot_sync(ALL_LANES, keep);
        if (keep) {
            const uint4 words = {row.slot, row.position + 1, token, SAMPLE};
            *reinterpret_cast<uint4*>(&params.records[(epoch + 1) % 2].rows[__popc(kept & before)]) = words;
        }
        count = __popc(kept);
        --steps;
        if (count == 0) ++completed;
        ++written;
        // The output is written by all lanes before lane 0 releases its count to the host.
        __syncwarp();
        if (lane() == 0) {
            store_release_sys(&params.outbox->written, written);
            if (count == 0) store_release_sys(&params.outbox->completed, completed);
        }
    }
    if (lane() == 0) store_release_sys(&params.outbox->epoch, epoch);
}

}  // namespace mpk
