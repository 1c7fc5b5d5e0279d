// Streamed matrix products: inputs staged by warp, sums over the warps in a fixed order.
//
// Every warp has a fixed share of the inputs of each page, so that it stages them for itself: no barrier but its own.
#pragma once
#include "mpk/mma.cuh"
#include "mpk/ports.cuh"

namespace mpk {

/// The inputs of this warp, in shared memory: a slot for each page of a strip if they fit, else a ring of slots that is filled
/// ahead, strip after strip.
class Slots {
  public:
    MPK_DEVICE Slots(uint32_t width, const Segment& segment)
        : width(width), rows(shared().record.count), stride(ROW_BYTES + (rows > 1 ? 16 : 0)), slot_bytes(rows * stride),
          per_strip(ceil_div(segment.strip_bytes, PAGE_BYTES)), left(per_strip * segment.strips),
          region(shared_memory + STAGED_AT + warp() * WARP_STAGED) {
        const uint32_t token = smaller(lane() % 8 + lane() / 16 * 8, rows - 1);
        offset = token * stride + lane() / 8 % 2 * 16;
        const uint32_t slots = WARP_STAGED / slot_bytes;
        resident = slots >= per_strip;
        depth = resident ? per_strip : slots;
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

  protected:
    static constexpr uint32_t ROW_BYTES = WARP_UNITS * 32, CHUNKS = ROW_BYTES / 16;
    // A plan without streams stages nothing.
    static_assert(WARP_STAGED == 0 || WARP_STAGED >= MAX_STEP_ROWS * (ROW_BYTES + (MAX_STEP_ROWS > 1 ? 16 : 0)),
                  "the region `activations` of the plan is too small for the inputs of one page");

    /// The first input of this warp in page `page` of a strip.
    MPK_DEVICE uint32_t first_input(uint32_t page) const { return (page * WARPS + warp()) * WARP_UNITS * 16; }
    MPK_DEVICE uint8_t* slot(uint32_t index) const { return region + index * slot_bytes; }
    /// Goes on to the slot that is read next.
    MPK_DEVICE void turn() {
        current = slot(read);
        read = read + 1 == depth ? 0 : read + 1;
    }
    /// Goes on to the page and the slot that are filled next.
    MPK_DEVICE void filled() {
        page = page + 1 == per_strip ? 0 : page + 1;
        write = write + 1 == depth ? 0 : write + 1;
        --left;
    }

    uint32_t width, rows, stride, slot_bytes, per_strip, left;
    uint8_t* region;
    const uint8_t* current = nullptr;
    /// The row of a fragment that this lane addresses: lane `8 m + r` that of token `r`, in half `m % 2` of the inputs, and from 8
    /// tokens on if `m / 2`.
    uint32_t offset;
    uint32_t depth, page = 0, write = 0, read = 0;
    bool resident;
};

/// Inputs as they are: asynchronous copies, some pages ahead.
class Staged : public Slots {
  public:
    MPK_DEVICE Staged(const bf16* x, uint32_t width, const Segment& segment) : Slots(width, segment), x(x) {
        ahead = resident ? per_strip : smaller(depth - 1, MOST_AHEAD);
        for (uint32_t i = 0; i < ahead; ++i) fill();
        if (resident) {
            copy_wait<0>();
            __syncwarp();
        }
    }

    /// Makes the inputs of the next page ready, and fetches those of a later one.
    MPK_DEVICE void advance() {
        if (unlikely(!resident)) {
            // The slot filled here was read in an earlier page, which ended with a `__syncwarp`.
            fill();
            if (ahead == 3) copy_wait<3>();
            else if (ahead == 2) copy_wait<2>();
            else if (ahead == 1) copy_wait<1>();
            else copy_wait<0>();
            // Each lane waited for its own copies; this makes them visible to the others.
            __syncwarp();
        }
        turn();
    }

  private:
    static constexpr uint32_t MOST_AHEAD = 3;

    /// Starts the copies for one page as one group, empty after the last page so that groups can be counted.
    MPK_DEVICE void fill() {
        if (left > 0) {
            const uint32_t first = first_input(page);
            for (uint32_t i = lane(); i < rows * CHUNKS; i += 32) {
                const uint32_t t = i / CHUNKS, k = first + i % CHUNKS * 8;
                copy(slot(write) + t * stride + i % CHUNKS * 16, x + uint64_t(t) * width, k);
            }
            filled();
        }
        copy_commit();
    }

    /// 8 inputs from `k` on; zero beyond the last, so that the padding of the weights meets no garbage.
    MPK_DEVICE void copy(uint8_t* to, const bf16* row, uint32_t k) const {
        if (likely(width % 8 == 0)) {
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
    uint32_t ahead;
};

/// Inputs times a norm's weights. What the norm divides by is known when all of them were seen, and belongs to a row as a whole: the
/// sums are scaled by it instead. A team of lanes has 8 inputs each of one row, and keeps the next loads in registers.
class Normed : public Slots {
  public:
    /// `squares` holds 16 floats for each warp.
    MPK_DEVICE Normed(const In<float>& x, const Vector& norm, const Segment& segment, float* squares)
        : Slots(x.features(), segment), x(x), norm(norm), squares(squares) {
        if ((MAX_STEP_ROWS == 1 || rows == 1) && resident) {
            one_row();
            return;
        }
        load();
        if (resident) {
            while (left > 0) next();
            __syncwarp();
        }
    }

    /// Makes the inputs of the next page ready, and fetches those of the one after it.
    MPK_DEVICE void advance() {
        if (unlikely(!resident)) {
            // The slot filled here was read in an earlier page, which ended with a `__syncwarp`; so does the next one.
            next();
            __syncwarp();
        }
        turn();
    }

    /// What the sums of row `t` are to be multiplied by. After the barrier that joins the sums.
    MPK_DEVICE float scale(uint32_t t, float eps) const {
        float sum = 0;
#pragma unroll
        for (uint32_t w = 0; w < WARPS; ++w) sum += squares[w * 16 + t];
        return rsqrtf(sum * (1.0f / width) + eps);
    }

  private:
    static constexpr uint32_t LANES = CHUNKS <= 8 ? 8 : 16, TEAMS = 32 / LANES, HELD = ceil_div(MAX_STEP_ROWS, TEAMS);
    static_assert(CHUNKS <= LANES, "a team has a lane for every 8 inputs of a warp");

    static MPK_DEVICE uint32_t team() { return lane() / LANES; }
    static MPK_DEVICE uint32_t chunk() { return lane() % LANES; }

    /// Whether this lane has inputs from `k` on.
    MPK_DEVICE bool has(uint32_t k) const { return chunk() < CHUNKS && k < width; }

    /// All pages of one row, one for each team at a time.
    MPK_DEVICE void one_row() {
        constexpr uint32_t AT_ONCE = 2;
        float sum = 0;
#pragma unroll 1
        for (uint32_t base = team(); base < per_strip; base += AT_ONCE * TEAMS) {
            Floats<8> v[AT_ONCE];
            uint4 g[AT_ONCE];
#pragma unroll
            for (uint32_t i = 0; i < AT_ONCE; ++i) {
                const uint32_t at = base + i * TEAMS, k = first_input(at) + chunk() * 8;
                v[i] = Floats<8>{};
                g[i] = uint4{0, 0, 0, 0};
                if (at >= per_strip || !has(k)) continue;
                v[i] = x.load<8>(0, k);
                g[i] = norm.words(k, width);
            }
#pragma unroll
            for (uint32_t i = 0; i < AT_ONCE; ++i) {
                const uint32_t at = base + i * TEAMS;
                sum += sum_of_squares(v[i]);
                if (at < per_strip && chunk() < CHUNKS) put(slot(at) + chunk() * 16, v[i], g[i]);
            }
        }
        sum = lane_sum<32>(sum);
        if (lane() == 0) squares[warp() * 16] = sum;
        // The other lanes' inputs are there.
        __syncwarp();
    }

    /// Loads the inputs of the page that is filled next; a team has every `TEAMS`th row.
    MPK_DEVICE void load() {
        const uint32_t k = first_input(page) + chunk() * 8;
        gain = has(k) ? norm.words(k, width) : uint4{0, 0, 0, 0};
#pragma unroll
        for (uint32_t i = 0; i < HELD; ++i) {
            const uint32_t t = i * TEAMS + team();
            held[i] = t < rows && has(k) ? x.load<8>(t, k) : Floats<8>{};
        }
    }

    /// Stores what was loaded and loads the page after it. Sums are taken in the first strip.
    MPK_DEVICE void next() {
#pragma unroll
        for (uint32_t i = 0; i < HELD; ++i) {
            const uint32_t t = i * TEAMS + team();
            if (seen < per_strip) squared[i] += sum_of_squares(held[i]);
            if (t < rows && chunk() < CHUNKS) put(slot(write) + t * stride + chunk() * 16, held[i], gain);
        }
        if (++seen == per_strip) {
#pragma unroll
            for (uint32_t i = 0; i < HELD; ++i) {
                const uint32_t t = i * TEAMS + team();
                const float sum = lane_sum<LANES>(squared[i]);
                if (chunk() == 0 && t < rows) squares[warp() * 16 + t] = sum;
            }
        }
        filled();
        if (left > 0) load();
    }

    static MPK_DEVICE float sum_of_squares(const Floats<8>& v) {
        float sum = 0;
#pragma unroll
        for (int j = 0; j < 8; ++j) sum += v[j] * v[j];
        return sum;
    }
    static MPK_DEVICE void put(uint8_t* to, const Floats<8>& v, const uint4& words) {
        const Floats<8> g = unpacked(words);
        *reinterpret_cast<uint4*>(to) = {pack(v[0] * g[0], v[1] * g[1]), pack(v[2] * g[2], v[3] * g[3]),
                                         pack(v[4] * g[4], v[5] * g[5]), pack(v[6] * g[6], v[7] * g[7])};
    }

    const In<float>& x;
    const Vector& norm;
    float* squares;
    /// The page that was loaded and not stored: inputs, and the norm's weights. Given a value even where it is never used: what has
    /// none keeps its registers across all other tasks.
    Floats<8> held[HELD] = {};
    uint4 gain = {0, 0, 0, 0};
    float squared[HELD] = {};
    /// Pages stored so far.
    uint32_t seen = 0;
};

template <class E> template <class W> MPK_DEVICE auto In<E>::load(const W& w) const { return Staged(row(0), width, w.stream()); }
template <class E> template <class W> MPK_DEVICE auto In<E>::load(const W& w, const Vector& norm, float* squares) const {
    return Normed(*this, norm, w.stream(), squares);
}

/// The sums of a strip of 16 outputs: in registers by warp, then over the warps in their order.
class StripSum {
  public:
    /// `part` holds 256 floats for each warp.
    MPK_DEVICE explicit StripSum(float* part)
        : part(part), rows(shared().record.count), token(Tile::token(0)), lane_at(token * 16 + Tile::output(0)), warp_at(warp() * 128) {}

    /// Adds a page.
    template <class Inputs> MPK_DEVICE void add(const Page& page, Inputs& x) {
        x.advance();
        // All loads before the first product. A unit that the page lacks is zero, and so are the inputs staged for it.
        uint4 a[WARP_UNITS];
        uint32_t b[WARP_UNITS][4];
#pragma unroll
        for (uint32_t i = 0; i < WARP_UNITS; ++i) {
            a[i] = page.begin + i < page.end ? page.fragment(page.begin + i) : uint4{0, 0, 0, 0};
            x.fragment(i, b[i]);
        }
        // Two chains, so that one product does not wait for the one before.
#pragma unroll
        for (uint32_t i = 0; i < WARP_UNITS; ++i) {
            low[i % 2].add(a[i], b[i][0], b[i][1]);
            if (MAX_STEP_ROWS > 8 && rows > 8) high[i % 2].add(a[i], b[i][2], b[i][3]);
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
        if (MAX_STEP_ROWS > 8 && rows > 8) {
            write(low, 0, current + 2 * warp_at + lane_at);
            write(high, 8, current + 2 * warp_at + lane_at + 128);
        } else {
            write(low, 0, current + warp_at + lane_at);
        }
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
    /// The sums of tokens `first` to `first + 7`, to `mine` on: token by token 16 outputs.
    MPK_DEVICE void write(Tile (&tiles)[2], uint32_t first, float* mine) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (first + token + i % 2 < rows) mine[i % 2 * 16 + i / 2 * 8] = tiles[0].c[i] + tiles[1].c[i];
            tiles[0].c[i] = tiles[1].c[i] = 0;
        }
    }

    float* part;
    float* current = nullptr;
    uint32_t rows, turn = 0;
    /// The first token of this lane in a tile, its place in the sums of a warp, and the place of the warp.
    uint32_t token, lane_at, warp_at;
    Tile low[2], high[2];
};

}  // namespace mpk
