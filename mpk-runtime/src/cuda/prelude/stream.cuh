// The stage ring: filled by one thread that ignores dependencies, read page by page by all consumer warps.
#pragma once
#include "mpk/worker.cuh"

namespace mpk {

/// Awaits the copies in flight: none may write to the shared memory of a block that has ended.
MPK_DEVICE void drain(Cursor<STAGES> landed, uint32_t in_flight) {
    for (; in_flight > 0; --in_flight) {
        mbarrier_wait(&shared().full[landed.stage], landed.phase);
        landed.advance();
    }
}

/// Streams this worker's segments, step after step, as far ahead as the ring allows. One thread.
MPK_DEVICE void load_pages(const Params& params) {
    Shared& s = shared();
    const Queue queue = params.queues[blockIdx.x];
    Cursor<STAGES> next, landed;
    uint32_t in_flight = 0;
    // Read one ahead: the pages of a segment do not wait for its description.
    Segment ahead{};
    if (queue.segment_count > 0) ahead = queue.segments[0];
    for (uint32_t epoch = params.epoch + 1; step_begins(params, epoch); ++epoch) {
        for (uint32_t i = 0; i < queue.segment_count; ++i) {
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
                    // All warps have released the page. Their reads are ordered before this by the barrier, and the copy is
                    // issued after it: no proxy fence is needed for a write after reads.
                    const Site site = {FREE_PAGE, NO_OP, next.stage, 0, epoch};
                    if (!wait_phase(site, &s.empty[next.stage], next.phase ^ 1)) return drain(landed, in_flight);
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
    drain(landed, in_flight);
}

/// Brings the packets of this worker's queue into shared memory, some tasks ahead. One thread.
MPK_DEVICE void load_packets(const Params& params) {
    Shared& s = shared();
    const Queue queue = params.queues[blockIdx.x];
    Cursor<PACKETS> next;
    for (uint32_t epoch = params.epoch + 1; step_begins(params, epoch); ++epoch) {
        for (uint32_t i = 0; i < queue.packet_count; ++i) {
            mbarrier_wait(&s.packet_empty[next.stage], next.phase ^ 1);
            mbarrier_expect(&s.packet_full[next.stage], PACKET_BYTES);
            bulk_copy(s.packets[next.stage], queue.packets + uint64_t(i) * PACKET_BYTES, PACKET_BYTES, &s.packet_full[next.stage]);
            next.advance();
        }
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
        MPK_DEVICE explicit Iterator(Pages& pages) : pages(pages), left(pages.strips) {}
        MPK_DEVICE bool operator!=(End) const { return left != 0; }
        MPK_DEVICE Page operator*() const {
            const uint32_t stage = pages.ring.stage;
            const Site site = {PAGE, NO_OP, stage, 0, 0};
            wait_phase(site, &shared().full[stage], pages.ring.phase);
            const uint32_t at = index * PAGE_BYTES;
            const uint32_t units = smaller(PAGE_BYTES, pages.strip_bytes - at) / UNIT_BYTES;
            const uint32_t begin = smaller(warp() * WARP_UNITS, units);
            const uint32_t end = smaller(begin + WARP_UNITS, units);
            return {page_at(stage) + lane() * 16, row, index, begin, end, index == 0, is_last()};
        }
        MPK_DEVICE void operator++() {
            // The lanes of the warp are done with the page before one of them says so.
            __syncwarp();
            if (lane() == 0) mbarrier_arrive(&shared().empty[pages.ring.stage]);
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
    };

    MPK_DEVICE Iterator begin() { return Iterator(*this); }
    MPK_DEVICE End end() const { return {}; }

  private:
    Cursor<STAGES>& ring;
    uint32_t strips, strip_bytes, row;
};

}  // namespace mpk
