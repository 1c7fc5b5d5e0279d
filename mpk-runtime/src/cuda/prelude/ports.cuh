// Ports: the only way from a body to memory. An access is a plain one here; where a plan carries epochs in the words themselves,
// the same names poll.
#pragma once
#include "mpk/stream.cuh"

namespace mpk {

/// Eight bfloat16 as floats.
MPK_DEVICE Floats<8> unpacked(const uint4& v) {
    const uint32_t words[4] = {v.x, v.y, v.z, v.w};
    Floats<8> r;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        r[2 * i] = __uint_as_float(words[i] << 16);
        r[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
    }
    return r;
}

/// Eight floats, rounded to bfloat16.
MPK_DEVICE uint4 packed(const Floats<8>& v) { return {pack(v[0], v[1]), pack(v[2], v[3]), pack(v[4], v[5]), pack(v[6], v[7])}; }

/// `N` elements from `p` on as floats; in words of 16 bytes if `aligned`.
template <int N> MPK_DEVICE Floats<N> load_floats(const bf16* p, bool aligned) {
    Floats<N> r;
    if (N % 8 == 0 && aligned) {
#pragma unroll
        for (int i = 0; i < N / 8; ++i) {
            const Floats<8> part = unpacked(load_plain(reinterpret_cast<const uint4*>(p) + i));
#pragma unroll
            for (int j = 0; j < 8; ++j) r[8 * i + j] = part[j];
        }
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i) r[i] = to_float(load_plain(p + i));
    }
    return r;
}
template <int N> MPK_DEVICE Floats<N> load_floats(const float* p, bool aligned) {
    Floats<N> r;
    if (N % 4 == 0 && aligned) {
#pragma unroll
        for (int i = 0; i < N / 4; ++i) {
            const uint4 v = load_plain(reinterpret_cast<const uint4*>(p) + i);
            r[4 * i] = __uint_as_float(v.x);
            r[4 * i + 1] = __uint_as_float(v.y);
            r[4 * i + 2] = __uint_as_float(v.z);
            r[4 * i + 3] = __uint_as_float(v.w);
        }
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i) r[i] = load_plain(p + i);
    }
    return r;
}

template <class E> MPK_DEVICE auto value(E v) { return v; }
template <> MPK_DEVICE auto value(bf16 v) { return to_float(v); }

class Vector;

/// Activations read: rows of features.
template <class E> class In {
  public:
    MPK_DEVICE In(uint64_t address, const Route& route, uint32_t index, uint32_t features, uint32_t epoch)
        : bit(1u << index), base(reinterpret_cast<const uint8_t*>(address) + (epoch & 1 ? route.parity : 0)), route(route),
          width(features) {}

    /// Which port it is, for `dep_wait`.
    const uint32_t bit;

    MPK_DEVICE uint32_t features() const { return width; }
    /// Ranks that a collective reads.
    MPK_DEVICE uint32_t ranks() const { return route.ranks; }
    /// The same port as rank `r` wrote it.
    MPK_DEVICE In rank(uint32_t r) const {
        In other = *this;
        other.base += uint64_t(r) * route.source;
        return other;
    }
    /// The index of feature `n` in the unsharded value.
    MPK_DEVICE uint32_t global(uint32_t n) const { return route.first + n; }

    /// Feature `k` of row `t`.
    MPK_DEVICE auto at(uint32_t t, uint32_t k) const { return value(load_plain(row(t) + k)); }
    /// `N` features from `k` on, `k` a multiple of `N` inside of the row; what lies beyond the row is 0.
    template <int N> MPK_DEVICE Floats<N> load(uint32_t t, uint32_t k) const {
        if (width % N == 0 || k + N <= width) return load_floats<N>(row(t) + k, width * sizeof(E) % 16 == 0);
        Floats<N> r;
#pragma unroll
        for (int i = 0; i < N; ++i) r[i] = k + i < width ? to_float(load_plain(row(t) + k + i)) : 0.0f;
        return r;
    }
    /// This warp's inputs for the pages of `w`, staged in shared memory. After the wait.
    template <class W> MPK_DEVICE auto load(const W& w) const;
    /// The same times the weights of a norm, which needs `squares`: 16 floats for each warp.
    template <class W> MPK_DEVICE auto load(const W& w, const Vector& norm, float* squares) const;

  private:
    MPK_DEVICE const E* row(uint32_t t) const { return reinterpret_cast<const E*>(base) + uint64_t(t) * width; }

    const uint8_t* base;
    Route route;
    uint32_t width;
};

/// Activations written. The stores are weak; the trigger after the body releases them.
template <class E> class Out {
  public:
    MPK_DEVICE Out(uint64_t address, const Route& route, uint32_t features, uint32_t epoch, const int64_t* peers)
        : base(reinterpret_cast<uint8_t*>(address) + (epoch & 1 ? route.parity : 0)), width(features), ranks(route.ranks),
          peers(peers) {}

    /// Feature `n` of row `t`, rounded to the element type; on every rank where a collective reads it.
    template <class V> MPK_DEVICE void store(uint32_t t, uint32_t n, V v) const {
        E* p = reinterpret_cast<E*>(base) + uint64_t(t) * width + n;
        const E e = Store<E>::of(v);
        if constexpr (RANKS > 1) {
            if (ranks > 1) {
#pragma unroll 1
                for (uint32_t r = 0; r < ranks; ++r) *reinterpret_cast<E*>(reinterpret_cast<uint8_t*>(p) + peers[r]) = e;
                return;
            }
        }
        *p = e;
    }

  private:
    uint8_t* base;
    uint32_t width, ranks;
    const int64_t* peers;
};

/// A weight of two dimensions, in fragment order.
class Matrix {
  public:
    MPK_DEVICE Matrix(uint64_t address, uint32_t rows, uint32_t cols, Cursor<STAGES>& ring, const Segment* segment, uint32_t first_row)
        : base(reinterpret_cast<const uint8_t*>(address)), rows(rows), cols(cols), ring(ring), segment(segment),
          first_row(first_row) {}

    MPK_DEVICE explicit operator bool() const { return base != nullptr; }

    /// Element `k` of row `n`, gathered. A row that does not exist, as only bad data names it, is the last one.
    MPK_DEVICE float at(uint32_t n, uint32_t k) const {
        n = smaller(n, rows - 1);
        const uint64_t unit = uint64_t(n / 16) * ceil_div(cols, 16u) + k / 16;
        const uint32_t holder = n % 8 * 4 + k % 8 / 2, element = k % 16 / 8 * 4 + n % 16 / 8 * 2 + k % 2;
        return to_float(*reinterpret_cast<const bf16*>(base + unit * UNIT_BYTES + holder * 16 + element * 2));
    }

    /// What this task reads of it.
    MPK_DEVICE const Segment& stream() const { return *segment; }
    /// Its pages, in the order in which the loader streams them.
    MPK_DEVICE Pages pages() const { return Pages(ring, *segment, first_row); }

  private:
    const uint8_t* base;
    uint32_t rows, cols;
    Cursor<STAGES>& ring;
    const Segment* segment;
    uint32_t first_row;
};

/// A weight of one dimension.
class Vector {
  public:
    MPK_DEVICE explicit Vector(uint64_t address) : base(reinterpret_cast<const bf16*>(address)) {}
    MPK_DEVICE explicit operator bool() const { return base != nullptr; }
    MPK_DEVICE float at(uint32_t i) const { return to_float(base[i]); }
    /// `N` elements from `i` on, `i` a multiple of `N`.
    template <int N> MPK_DEVICE Floats<N> load(uint32_t i) const { return load_floats<N>(base + i, true); }
    /// Before the wait: fetches the first `count` elements to the second-level cache, each thread its part.
    MPK_DEVICE void prefetch(uint32_t count) const {
        for (uint32_t i = thread() * 64; base != nullptr && i < count; i += GROUPS * 128 * 64) mpk::prefetch(base + i);
    }
    /// The 8 elements from `i` on as they are stored, `i` a multiple of 8; zero from element `end` on.
    MPK_DEVICE uint4 words(uint32_t i, uint32_t end) const {
        if (end % 8 == 0 || i + 8 <= end) return load_plain(reinterpret_cast<const uint4*>(base + i));
        uint32_t words[4] = {0, 0, 0, 0};
        for (uint32_t j = 0; j < 8; ++j) {
            if (i + j < end) words[j / 2] |= uint32_t(load_plain(base + i + j).bits) << j % 2 * 16;
        }
        return {words[0], words[1], words[2], words[3]};
    }

  private:
    const bf16* base;
};

/// Memory that lives across steps: an array of four dimensions, the last one contiguous.
template <class E> class State {
  public:
    MPK_DEVICE State(uint64_t address, uint32_t d0, uint32_t d1, uint32_t d2, uint32_t d3)
        : base(reinterpret_cast<E*>(address)), d0(d0), d1(d1), d2(d2), d3(d3) {}

    /// One element.
    MPK_DEVICE auto at(uint32_t a, uint32_t b, uint32_t c, uint32_t k) const { return value(load_plain(row(a, b, c) + k)); }
    /// `N` elements from `k` on, `k` a multiple of `N` and the last dimension one of 8.
    template <int N> MPK_DEVICE Floats<N> load(uint32_t a, uint32_t b, uint32_t c, uint32_t k) const {
        return load_floats<N>(row(a, b, c) + k, true);
    }
    /// The 8 elements from `k` on as they are stored, `k` a multiple of 8 and so the last dimension.
    MPK_DEVICE uint4 words(uint32_t a, uint32_t b, uint32_t c, uint32_t k) const {
        return load_plain(reinterpret_cast<const uint4*>(row(a, b, c) + k));
    }
    /// Writes one word.
    MPK_DEVICE void store(uint32_t a, uint32_t b, uint32_t c, uint32_t k, uint64_t v) const { row(a, b, c)[k] = v; }
    /// Writes 8 elements, rounded.
    MPK_DEVICE void store(uint32_t a, uint32_t b, uint32_t c, uint32_t k, const Floats<8>& v) const {
        *reinterpret_cast<uint4*>(row(a, b, c) + k) = packed(v);
    }
    /// Adds to a word; several workers may at once.
    MPK_DEVICE void add(uint32_t a, uint32_t b, uint32_t c, uint32_t k, uint64_t v) const { add_relaxed(row(a, b, c) + k, v); }

  private:
    // The first index may come from a page table: what bad data says is held inside of the array.
    MPK_DEVICE E* row(uint32_t a, uint32_t b, uint32_t c) const {
        return base + ((uint64_t(smaller(a, d0 - 1)) * d1 + b) * d2 + c) * d3;
    }

    E* base;
    uint32_t d0, d1, d2, d3;
};

/// Cosines and sines by position.
class RopeTable {
  public:
    MPK_DEVICE RopeTable(uint64_t address, uint32_t head_dim) : base(reinterpret_cast<const float*>(address)), width(head_dim) {}
    /// `N` cosines from `i` on.
    template <int N> MPK_DEVICE Floats<N> cosines(uint32_t position, uint32_t i) const { return part<N>(position, i); }
    /// `N` sines from `i` on.
    template <int N> MPK_DEVICE Floats<N> sines(uint32_t position, uint32_t i) const { return part<N>(position, width / 2 + i); }

  private:
    template <int N> MPK_DEVICE Floats<N> part(uint32_t position, uint32_t i) const {
        return load_floats<N>(base + uint64_t(smaller(position, POSITIONS - 1)) * width + i, true);
    }

    const float* base;
    uint32_t width;
};

/// The rows of the step and the page tables of their slots.
class RowTable {
  public:
    MPK_DEVICE RowTable(uint64_t address) : tables(reinterpret_cast<const uint32_t*>(address)) {}

    MPK_DEVICE uint32_t count() const { return shared().record.count; }
    MPK_DEVICE Row operator[](uint32_t t) const { return shared().record.rows[t]; }
    /// The first row of the sequence of row `t`: rows of one slot stand together.
    MPK_DEVICE uint32_t first_peer(uint32_t t) const {
        const Row* rows = shared().record.rows;
        while (t > 0 && rows[t - 1].slot == rows[t].slot) --t;
        return t;
    }
    /// Positions of the sequence of row `t` that are in the cache before this step.
    MPK_DEVICE uint32_t cached(uint32_t t) const { return shared().record.rows[first_peer(t)].position; }
    /// The page that holds a position of `slot`.
    MPK_DEVICE uint32_t page(uint32_t slot, uint32_t position) const {
        return tables[smaller(slot, SLOTS - 1) * SLOT_PAGES + smaller(position / PAGE_POSITIONS, SLOT_PAGES - 1)];
    }

  private:
    const uint32_t* tables;
};

}  // namespace mpk
