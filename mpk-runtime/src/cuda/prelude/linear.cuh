// Streamed matrix products: inputs staged by warp, sums over the warps in a fixed order.
//
// Every warp has a fixed share of the inputs of each page, so that it stages them for itself: no barrier but its own.
#pragma once
#include "mpk/mma.cuh"
#include "mpk/ports.cuh"

namespace mpk {

/// The inputs of this warp, in shared memory: a slot for each page of a strip if they fit, else a ring of slots that is filled a
/// few pages ahead, strip after strip.
class Staged {
  public:
    MPK_DEVICE Staged(const bf16* x, uint32_t width, const Segment& segment)
        : x(x), width(width), rows(shared().record.count), stride(ROW_BYTES + (rows > 1 ? 16 : 0)), slot_bytes(rows * stride),
          per_strip(ceil_div(segment.strip_bytes, PAGE_BYTES)), left(per_strip * segment.strips),
          region(shared_memory + STAGED_AT + warp() * WARP_STAGED) {
        const uint32_t token = smaller(lane() % 8 + lane() / 16 * 8, rows - 1);
        offset = token * stride + lane() / 8 % 2 * 16;
        const uint32_t slots = WARP_STAGED / slot_bytes;
        resident = slots >= per_strip;
        depth = resident ? per_strip : slots;
        ahead = resident ? per_strip : smaller(slots - 1, MOST_AHEAD);
        for (uint32_t i = 0; i < ahead; ++i) fill();
        if (resident) {
            copy_wait<0>();
            __syncwarp();
        }
    }

    /// Makes the inputs of the next page ready, and fetches those of a later one.
    MPK_DEVICE void advance() {
        if (!resident) {
            // The slot filled here was read in an earlier page, which ended with a `__syncwarp`.
            fill();
            if (ahead == 3) copy_wait<3>();
            else if (ahead == 2) copy_wait<2>();
            else if (ahead == 1) copy_wait<1>();
            else copy_wait<0>();
            // Each lane waited for its own copies; this makes them visible to the others.
            __syncwarp();
        }
        current = region + read * slot_bytes;
        read = read + 1 == depth ? 0 : read + 1;
    }

    /// The B fragments of unit `i` of this warp's share: of tokens 0 to 7 in `b[0]` and `b[1]`, of the others after them.
    MPK_DEVICE void fragment(uint32_t i, uint32_t (&b)[4]) const {
        const uint8_t* row = current + offset + i * 32;
        if (MAX_STEP_ROWS > 8 && rows > 8) {
            matrices(row, b[0], b[1], b[2], b[3]);
        } else {
            matrices(row, b[0], b[1]);
        }
    }

  private:
    static constexpr uint32_t ROW_BYTES = WARP_UNITS * 32, CHUNKS = ROW_BYTES / 16, MOST_AHEAD = 3;
    // A plan without streams stages nothing.
    static_assert(WARP_STAGED == 0 || WARP_STAGED >= MAX_STEP_ROWS * (ROW_BYTES + (MAX_STEP_ROWS > 1 ? 16 : 0)),
                  "the region `activations` of the plan is too small for the inputs of one page");

    /// Starts the copies for one page as one group, empty after the last page so that groups can be counted.
    MPK_DEVICE void fill() {
        if (left > 0) {
            const uint32_t first = (page * WARPS + warp()) * WARP_UNITS * 16;
            uint8_t* slot = region + write * slot_bytes;
            for (uint32_t i = lane(); i < rows * CHUNKS; i += 32) {
                const uint32_t t = i / CHUNKS, k = first + i % CHUNKS * 8;
                copy(slot + t * stride + i % CHUNKS * 16, x + uint64_t(t) * width, k);
            }
            page = page + 1 == per_strip ? 0 : page + 1;
            write = write + 1 == depth ? 0 : write + 1;
            --left;
        }
        copy_commit();
    }

    /// 8 inputs from `k` on; zero beyond the last, so that the padding of the weights meets no garbage.
    MPK_DEVICE void copy(uint8_t* to, const bf16* row, uint32_t k) const {
        if (width % 8 == 0) {
            copy_async(to, k < width ? row + k : x, k < width ? 16 : 0);
            return;
        }
        uint32_t words[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const uint32_t at = k + 2 * i;
            const uint32_t lo = at < width ? load_plain(row + at).bits : 0, hi = at + 1 < width ? load_plain(row + at + 1).bits : 0;
            words[i] = lo | hi << 16;
        }
        *reinterpret_cast<uint4*>(to) = {words[0], words[1], words[2], words[3]};
    }

    const bf16* x;
    uint32_t width, rows, stride, slot_bytes, per_strip, left;
    uint8_t* region;
    const uint8_t* current = nullptr;
    /// The row of a fragment that this lane addresses: lane `8 m + r` that of token `r`, in half `m % 2` of the inputs, and from 8
    /// tokens on if `m / 2`.
    uint32_t offset;
    uint32_t depth, ahead, page = 0, write = 0, read = 0;
    bool resident;
};

template <class E> template <class W> MPK_DEVICE auto In<E>::load(const W& w) const { return Staged(row(0), width, w.stream()); }

/// The sums of a strip of 16 outputs: in registers by warp, then over the warps in their order.
class StripSum {
  public:
    /// `part` holds 256 floats for each warp.
    MPK_DEVICE explicit StripSum(float* part) : part(part), rows(shared().record.count) {}

    /// Adds a page.
    MPK_DEVICE void add(const Page& page, Staged& x) {
        x.advance();
#pragma unroll
        for (uint32_t i = 0; i < WARP_UNITS; ++i) {
            if (page.begin + i >= page.end) break;
            const uint4 a = page.fragment(page.begin + i);
            uint32_t b[4];
            x.fragment(i, b);
            // Two chains, so that one product does not wait for the one before.
            low[i % 2].add(a, b[0], b[1]);
            if (MAX_STEP_ROWS > 8 && rows > 8) high[i % 2].add(a, b[2], b[3]);
        }
    }

    /// Joins the warps; `sync` is a barrier over all of them.
    template <class Sync> MPK_DEVICE void join(Sync sync) {
        // Up to 8 rows there are two buffers by turns: who reads the old one is done before it comes round again. Above there
        // is one, and the readers of the strip before have to be done.
        if (MAX_STEP_ROWS > 8 && rows > 8) {
            sync();
            current = part;
        } else {
            current = part + turn * WARPS * 128;
            turn ^= 1;
        }
        write(low, 0);
        if (MAX_STEP_ROWS > 8 && rows > 8) write(high, 8);
        sync();
    }

    /// Output `n` of the strip for row `t`.
    MPK_DEVICE float at(uint32_t t, uint32_t n) const {
        const uint32_t width = MAX_STEP_ROWS > 8 && rows > 8 ? 256 : 128;
        float sum = 0;
#pragma unroll
        for (uint32_t w = 0; w < WARPS; ++w) sum += current[w * width + t * 16 + n];
        return sum;
    }

  private:
    MPK_DEVICE void write(Tile (&tiles)[2], uint32_t first) {
        const uint32_t width = MAX_STEP_ROWS > 8 && rows > 8 ? 256 : 128;
        float* mine = current + warp() * width;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const uint32_t t = first + Tile::token(i);
            if (t < rows) mine[t * 16 + Tile::output(i)] = tiles[0].c[i] + tiles[1].c[i];
            tiles[0].c[i] = tiles[1].c[i] = 0;
        }
    }

    float* part;
    float* current = nullptr;
    uint32_t rows, turn = 0;
    Tile low[2], high[2];
};

}  // namespace mpk
