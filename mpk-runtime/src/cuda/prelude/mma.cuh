// Tensor cores with the operands swapped: weights are A (16 outputs × 16 inputs), tokens are the columns of B.
#pragma once
#include "mpk/memory.cuh"

namespace mpk {

/// 16 outputs × 8 tokens in f32: this lane holds outputs `lane / 4` (and 8 more) of tokens `lane % 4 * 2` (and one more).
struct Tile {
    float c[4] = {0, 0, 0, 0};

    MPK_DEVICE void add(const uint4& a, uint32_t b0, uint32_t b1) {
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
    }

    /// The output and the token of element `i`.
    static MPK_DEVICE uint32_t output(int i) { return lane() / 4 + i / 2 * 8; }
    static MPK_DEVICE uint32_t token(int i) { return lane() % 4 * 2 + i % 2; }
};

// Rows of 16 bytes in shared memory become B fragments; lane `8 m + r` gives the address of row `r` of matrix `m`.
MPK_DEVICE void matrices(const void* row, uint32_t& b0, uint32_t& b1) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(b0), "=r"(b1) : "r"(shared_address(row)));
}
MPK_DEVICE void matrices(const void* row, uint32_t& b0, uint32_t& b1, uint32_t& b2, uint32_t& b3) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(b0), "=r"(b1), "=r"(b2), "=r"(b3)
                 : "r"(shared_address(row)));
}

}  // namespace mpk
