// Writes random elements where a weight lies on the device. Each is computed from its index alone, so the order does not matter.

using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;

/// The mirror of `Fill` in `device.rs`.
struct Fill {
    uint16_t* out;
    uint64_t key;
    /// Rows of the tensor, and where its first one lies in the weight.
    uint64_t first_row, rows;
    uint64_t cols;
    /// Rows of each of the parts of the weight whose strips take turns, and how many there are.
    uint64_t part_rows;
    float scale, mean;
    /// Not zero: fragment order, else row-major.
    uint32_t fragments, parts;
};
static_assert(sizeof(Fill) == 64, "the host writes it");

/// Where an element of a packed matrix lies: `index` in `mpk-runtime/src/cuda/pack.rs`.
__device__ uint64_t packed_index(uint64_t row, uint64_t col, uint64_t cols) {
    const uint64_t unit = row / 16 * ((cols + 15) / 16) + col / 16;
    const uint32_t r = uint32_t(row % 16), c = uint32_t(col % 16);
    const uint32_t lane = r % 8 * 4 + c % 8 / 2;
    const uint32_t element = c / 8 * 4 + r / 8 * 2 + c % 2;
    return unit * 256 + lane * 8 + element;
}

/// Where a row lies among the strips: the inverse of `Packed::row` in `mpk-runtime/src/plan/mod.rs`.
__device__ uint64_t packed_row(const Fill& fill, uint64_t row) {
    const uint64_t part = row / fill.part_rows, within = row % fill.part_rows;
    return (within / 16 * fill.parts + part) * 16 + within % 16;
}

/// `Tensor::element` in `mod.rs`.
__device__ uint16_t element(const Fill& fill, uint64_t i) {
    uint64_t z = fill.key + (i + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    const int sum = int(z & 0xffff) + int(z >> 16 & 0xffff) + int(z >> 32 & 0xffff) + int(z >> 48) - 131070;
    // These two are never made one fused operation.
    const float value = __fadd_rn(__fmul_rn(float(sum), fill.scale), fill.mean);
    uint16_t bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

extern "C" __global__ void __launch_bounds__(512, 2) fill_random(const __grid_constant__ Fill fill) {
    for (uint64_t row = blockIdx.x; row < fill.rows; row += gridDim.x) {
        for (uint64_t col = threadIdx.x; col < fill.cols; col += blockDim.x) {
            const uint64_t to = fill.first_row + row;
            const uint64_t at = fill.fragments ? packed_index(packed_row(fill, to), col, fill.cols) : to * fill.cols + col;
            fill.out[at] = element(fill, row * fill.cols + col);
        }
    }
}
