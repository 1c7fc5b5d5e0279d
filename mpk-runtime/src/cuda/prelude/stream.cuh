// The stage ring: filled by one thread that ignores dependencies, read page by page by all consumer warps.
#pragma once
#include "mpk/worker.cuh"

namespace mpk {

/// Awaits the copies in flight: none may write to the shared memory of a block that has ended.
template <uint32_t DEPTH> MPK_DEVICE void drain(uint64_t (&full)[DEPTH], Cursor<DEPTH> landed, uint32_t in_flight) {
    for (; in_flight > 0; --in_flight) {
        mbarrier_wait(&full[landed.stage], landed.phase);
        landed.advance();
    }
}

/// Waits until the readers have freed a stage; false if `ends()` before. It has no limit of its own: readers that don't come on wait
/// for something else, which has one. Their reads are ordered before this by the barrier, and the copy is issued after it: no proxy
/// fence is needed for a write after reads.
template <class Ends> MPK_DEVICE bool wait_free(uint64_t* empty, uint32_t phase, Ends ends) {
    for (uint32_t spins = 1; !mbarrier_try(empty, phase ^ 1); ++spins) {
        if (spins % 16 == 0 && ends()) return false;
    }
    return true;
}

/// Streams this worker's segments, step after step, as far ahead as the ring allows: into the next step too, whether there is one
/// or not, since weights are the same in all of them. One thread.
MPK_DEVICE void load_pages(const Params& params) {
    Shared& s = shared();
    const Queue queue = params.queues[blockIdx.x];
    if (queue.segment_count == 0) return;
    Cursor<STAGES> next, landed;
    uint32_t in_flight = 0;
    // Read one ahead: the pages of a segment do not wait for its description.
    Segment ahead = queue.segments[0];
    uint32_t epoch = params.epoch + 1;
    // After a fault nobody waits for pages any more.
    auto ends = [&] { return aborted() || never_runs(params, epoch); };
    for (uint32_t i = 0;; ++i) {
        if (i == queue.segment_count) {
            i = 0;
            ++epoch;
        }
        const Segment segment = ahead;
        ahead = queue.segments[i + 1 == queue.segment_count ? 0 : i + 1];
        const uint8_t* source = reinterpret_cast<const uint8_t*>(segment.source);
        for (uint32_t strip = 0; strip < segment.strips; ++strip) {
            for (uint32_t at = 0; at < segment.strip_bytes; at += PAGE_BYTES) {
                // The bytes in flight are capped apart from the depth: beyond the knee they only make the queue longer in
                // which everybody's activations stand too.
                if (in_flight == IN_FLIGHT) {
                    mbarrier_wait(&s.full[landed.stage], landed.phase);
                    landed.advance();
                    --in_flight;
                }
                if (!wait_free(&s.empty[next.stage], next.phase, ends)) return drain(s.full, landed, in_flight);
                const uint32_t bytes = smaller(PAGE_BYTES, segment.strip_bytes - at);
                mbarrier_expect(&s.full[next.stage], bytes);
                bulk_copy(page_at(next.stage), source + at, bytes, &s.full[next.stage]);
                next.advance();
                ++in_flight;
            }
            source += segment.strip_bytes;
        }
    }
}

/// Brings the packets of this worker's queue into shared memory, some tasks ahead, likewise. One thread.
MPK_DEVICE void load_packets(const Params& params) {
    Shared& s = shared();
    const Queue queue = params.queues[blockIdx.x];
    if (queue.packet_count == 0) return;
    Cursor<PACKETS> next, landed;
    uint32_t in_flight = 0;
    uint32_t epoch = params.epoch + 1;
    // Even after a fault a step is run to its end.
    auto ends = [&] { return never_runs(params, epoch); };
    for (uint32_t i = 0;; ++i) {
        if (i == queue.packet_count) {
            i = 0;
            ++epoch;
        }
        if (!wait_free(&s.packet_empty[next.stage], next.phase, ends)) return drain(s.packet_full, landed, in_flight);
        // What was read had landed.
        if (in_flight == PACKETS) {
            landed.advance();
            --in_flight;
        }
        mbarrier_expect(&s.packet_full[next.stage], PACKET_BYTES);
        bulk_copy(s.packets[next.stage], queue.packets + uint64_t(i) * PACKET_BYTES, PACKET_BYTES, &s.packet_full[next.stage]);
        next.advance();
        ++in_flight;
    }
}

/// A page: units of 16 outputs × 16 inputs of one strip, one after the other over the inputs.
struct Page {
    /// This lane's part of the first unit.
    const uint8_t* data;
    /// The first output, and the place of the page in its strip.
    uint32_t row, index;
    /// The units of this warp: `begin` to `end` of those in the page.
    uint32_t begin, end;
    /// Whether it is the first or the last page of its strip.
    bool first, last;

    /// This lane's 8 elements of a unit, as `mma.m16n8k16` takes them.
    MPK_DEVICE uint4 fragment(uint32_t unit) const {
        return *reinterpret_cast<const uint4*>(data + unit * UNIT_BYTES);
    }
};

/// The pages of a task's segment, as `for (auto page : w.pages())`. Every consumer warp goes through all of them to the end.
class Pages {
  public:
    MPK_DEVICE Pages(Cursor<STAGES>& ring, const Segment& segment, uint32_t first_row)
        : ring(ring), strips(segment.strips), strip_bytes(segment.strip_bytes), row(first_row) {}

    struct End {};

    class Iterator {
      public:
        MPK_DEVICE explicit Iterator(Pages& pages)
            : pages(pages), left(pages.strips), lane_at(lane() * 16), first_unit(warp() * WARP_UNITS) {}
        MPK_DEVICE bool operator!=(End) const { return left != 0; }
        MPK_DEVICE Page operator*() const {
            const uint32_t stage = pages.ring.stage;
            const Site site = {PAGE, NO_OP, stage, 0, 0};
            wait_phase(site, &shared().full[stage], pages.ring.phase);
            const uint32_t at = index * PAGE_BYTES;
            const uint32_t units = smaller(PAGE_BYTES, pages.strip_bytes - at) / UNIT_BYTES;
            const uint32_t begin = smaller(first_unit, units);
            const uint32_t end = smaller(begin + WARP_UNITS, units);
            return {page_at(stage) + lane_at, row, index, begin, end, index == 0, is_last()};
        }
        MPK_DEVICE void operator++() {
            // The lanes of the warp are done with the page before one of them says so.
            __syncwarp();
            if (lane_at == 0) mbarrier_arrive(&shared().empty[pages.ring.stage]);
            pages.ring.advance();
            if (is_last()) {
                index = 0;
                row += 16;
                --left;
            } else {
                ++index;
            }
        }

      private:
        MPK_DEVICE bool is_last() const { return (index + 1) * PAGE_BYTES >= pages.strip_bytes; }

        Pages& pages;
        uint32_t left, index = 0, row = pages.row;
        /// This lane's place in a unit, and this warp's in a page: to read them anew at each page would take longer than its products.
        uint32_t lane_at, first_unit;
    };

    MPK_DEVICE Iterator begin() { return Iterator(*this); }
    MPK_DEVICE End end() const { return {}; }

  private:
    Cursor<STAGES>& ring;
    uint32_t strips, strip_bytes, row;
};

}  // namespace mpk
