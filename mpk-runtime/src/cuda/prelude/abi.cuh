// What the host writes for the kernel: mirrored in `abi.rs`, sizes checked on both sides.
#pragma once
#include "mpk/memory.cuh"

namespace mpk {

constexpr uint32_t MAX_ROWS = 16;

/// One row of a step.
struct Row {
    uint32_t slot, position, token, flags;
};
constexpr uint32_t SAMPLE = 1;

/// The rows of a step.
struct Record {
    uint32_t count, unused[3];
    Row rows[MAX_ROWS];
};
static_assert(sizeof(Record) == 272, "layout of Record");

/// A wait for `epoch * arrivals` on a counter, for the `In` ports in `ports`.
struct Wait {
    uint64_t counter;
    uint32_t arrivals;
    uint16_t ports, scope;
};
static_assert(sizeof(Wait) == 16, "layout of Wait");

/// An arrival at a counter.
struct Trigger {
    uint64_t counter;
    uint32_t scope, unused;
};
static_assert(sizeof(Trigger) == 16, "layout of Trigger");

/// Strips of a packed weight, contiguous.
struct Segment {
    uint64_t source;
    uint32_t strips, strip_bytes;
};
static_assert(sizeof(Segment) == 16, "layout of Segment");

/// What the plan says of an activation port beyond its address.
struct Route {
    /// Bytes to add in odd steps, and from the copy of one source rank to the next.
    uint32_t parity, source;
    /// The index of feature 0 in the unsharded value.
    uint32_t first;
    /// Ranks that a store goes to, or that a collective reads.
    uint32_t ranks;
};
static_assert(sizeof(Route) == 16, "layout of Route");

/// A task of a queue: this header, then its parts at the offsets that it gives, all in one packet of fixed size.
struct Packet {
    uint32_t variant, first_tile, tiles, op;
    uint16_t waits, wait_count, triggers, trigger_count;
    uint16_t segments, block, routes, unused;

    template <class Part> MPK_DEVICE const Part* at(uint32_t offset) const {
        return reinterpret_cast<const Part*>(reinterpret_cast<const uint8_t*>(this) + offset);
    }
};
static_assert(sizeof(Packet) == 32, "layout of Packet");

/// The queue of a worker.
struct Queue {
    const uint8_t* packets;
    const Segment* segments;
    uint32_t packet_count, segment_count, unused[2];
};
static_assert(sizeof(Queue) == 32, "layout of Queue");

/// The first wait that a role of a worker gave up. Written once; `kind` is claimed by a compare-and-swap.
struct Fault {
    uint32_t kind, worker, op, what, index, wanted, seen, epoch;
};
static_assert(sizeof(Fault) == 32, "layout of Fault");
enum FaultKind : uint32_t { NO_FAULT = 0, HANG = 1, OVERRUN = 2 };
/// What a wait is for: a counter, by its index among the waits of the task; a page of the ring; the other workers of a grid-wide
/// task.
enum WaitKind : uint32_t { COUNTER = 0, PAGE = 1, GRID = 2 };
/// A record for each role of each worker: the host finds the wait that all the others come from.
enum FaultRole : uint32_t { CONSUMER = 0, CONTROLLER = 1, FAULT_ROLES = 2 };
/// Stands for the op where it is the controller that waits.
constexpr uint32_t NO_OP = 0xffffffffu;

constexpr uint32_t MAX_STOPS = 12;

/// What the host asks for: a step with these rows, then up to `steps - 1` more with one row for each that samples.
struct Command {
    uint32_t count, steps, stop_count, unused;
    uint32_t stops[MAX_STOPS];
    Row rows[MAX_ROWS];
};
static_assert(sizeof(Command) == 320, "layout of Command");
constexpr uint32_t COMMANDS = 8;

/// Written by the host, in mapped pinned memory. Each word has its own line.
struct Inbox {
    /// Commands posted so far.
    uint32_t posted, unused0[31];
    /// Not zero: end after the current step.
    uint32_t stop, unused1[31];
    Command commands[COMMANDS];
};
static_assert(sizeof(Inbox) == 2816, "layout of Inbox");

/// A sampled token.
struct Sampled {
    uint32_t slot, position, token, unused;
};

/// What the step `epoch` gave; `last` is not zero if its command is complete with it.
struct Output {
    uint32_t count, last, epoch, unused;
    Sampled tokens[MAX_ROWS];
};
static_assert(sizeof(Output) == 272, "layout of Output");

/// Written by the kernel, in mapped pinned memory. Each word has its own line.
struct Outbox {
    /// Outputs written so far; output `i` is at `outputs[i % outputs_len]`.
    uint32_t written, unused0[31];
    /// The number of the launch that has ended, and where it did.
    uint32_t ended, completed, epoch, unused1[29];
};
static_assert(sizeof(Outbox) == 256, "layout of Outbox");

/// The argument of the kernel.
struct Params {
    const Queue* queues;
    /// Epoch in the upper half: the step of that epoch is to be run if the lower half is 0, else the kernel ends. The host sets it
    /// to the last epoch before each launch.
    uint64_t* head;
    /// By parity of the epoch.
    Record* records;
    const Wait* boundary;
    /// The token of each row, or null if the graph ends in something else; with what odd steps add.
    const uint32_t* sampled;
    uint32_t* grid_barrier;
    /// `FAULT_ROLES` records for each worker, and a word that is not zero once one is written.
    Fault* faults;
    uint32_t* aborted;
    Inbox* inbox;
    Outbox* outbox;
    Output* outputs;
    uint64_t watchdog_ns, idle_ns;
    /// What to add to an address of this rank's activations to get that of another rank.
    int64_t peers[8];
    uint32_t boundary_count, sampled_parity, outputs_len;
    /// Where a former launch ended, and the number of this one.
    uint32_t epoch, completed, written, launch;
    uint32_t rank, ranks, unused;
};
static_assert(sizeof(Params) == 208, "layout of Params");

}  // namespace mpk
