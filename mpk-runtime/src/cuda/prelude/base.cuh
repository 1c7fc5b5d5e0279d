// Types and arithmetic. The kernel is built without any CUDA header.
#pragma once

using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
using int32_t = int;
using int64_t = long long;

#define MPK_DEVICE __device__ __forceinline__
// NVRTC's front end does not know this name, only what it would be made of; the layouts of blocks are checked with it.
#define __builtin_offsetof(type, member) __INTADDR__(&((type*)0)->member)

namespace mpk {

/// A bfloat16: the upper half of a float.
struct bf16 {
    uint16_t bits;
};

MPK_DEVICE float to_float(bf16 v) { return __uint_as_float(uint32_t(v.bits) << 16); }
MPK_DEVICE float to_float(float v) { return v; }

MPK_DEVICE bf16 to_bf16(float v) {
    bf16 r;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.bits) : "f"(v));
    return r;
}

/// Two bfloat16 in one word, `lo` at the lower address.
MPK_DEVICE uint32_t pack(float lo, float hi) {
    uint32_t r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
    return r;
}

/// `v` rounded to bfloat16.
MPK_DEVICE float rounded(float v) { return to_float(to_bf16(v)); }

/// A value as it is stored in an element of type `E`.
template <class E> struct Store {
    static MPK_DEVICE E of(E v) { return v; }
};
template <> struct Store<bf16> {
    static MPK_DEVICE bf16 of(float v) { return to_bf16(v); }
};

/// `N` floats in registers: index them by constants only.
template <int N> struct Floats {
    float v[N];
    MPK_DEVICE float& operator[](int i) { return v[i]; }
    MPK_DEVICE const float& operator[](int i) const { return v[i]; }
};

template <class A, class B> MPK_DEVICE constexpr auto ceil_div(A a, B b) { return (a + b - 1) / b; }
MPK_DEVICE uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

/// Keeps the other case out of the way: code that is jumped over is fetched all the same.
MPK_DEVICE bool likely(bool condition) { return __builtin_expect(condition, true); }
MPK_DEVICE bool unlikely(bool condition) { return __builtin_expect(condition, false); }

MPK_DEVICE float negative_infinity() { return __uint_as_float(0xff800000u); }
constexpr uint32_t ALL_LANES = 0xffffffffu;

/// The thread in its block. Read anew at each use: what the bodies derive from it would else be kept in registers across all of them.
MPK_DEVICE uint32_t thread() {
    uint32_t t;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(t));
    return t;
}
MPK_DEVICE uint32_t lane() { return thread() % 32; }
MPK_DEVICE uint32_t warp() { return thread() / 32; }

/// The sum over aligned runs of `LANES` lanes, the same in each of them; the order is that of a butterfly.
template <int LANES> MPK_DEVICE float lane_sum(float v) {
#pragma unroll
    for (int mask = LANES / 2; mask > 0; mask /= 2) v += __shfl_xor_sync(ALL_LANES, v, mask);
    return v;
}

/// A word that orders as a value and then as the lowest index: the value's bits made to order as unsigned integers above, the
/// inverted index below; NaN is below all numbers.
MPK_DEVICE uint64_t rank_key(float value, uint32_t index) {
    const uint32_t bits = __float_as_uint(value);
    const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
    const uint32_t ordered = nan ? 0 : bits >> 31 ? ~bits : bits | 0x80000000u;
    return uint64_t(ordered) << 32 | ~index;
}

/// The largest value over the lanes of a warp.
MPK_DEVICE uint64_t lane_max(uint64_t v) {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) {
        const uint64_t other = __shfl_xor_sync(ALL_LANES, v, mask);
        if (other > v) v = other;
    }
    return v;
}

}  // namespace mpk
