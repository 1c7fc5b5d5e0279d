// Reads memory as fast as it can be read, in two ways. One block a multiprocessor; the blocks take chunks in turn.

using uint8_t = unsigned char;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;

/// The mirror of `Read` in `ceiling.rs`.
struct Read {
    const uint8_t* data;
    uint64_t bytes;
    /// Takes a word that depends on all that was read.
    uint32_t* sink;
};
static_assert(sizeof(Read) == 24, "the host writes it");

constexpr uint32_t THREADS = 1024;
/// Loads of 16 bytes that a thread has in flight: 128 KB a block.
constexpr uint32_t LOADS = 8;

extern "C" __global__ void __launch_bounds__(THREADS, 1) read_plain(const __grid_constant__ Read read) {
    constexpr uint64_t CHUNK = uint64_t(THREADS) * LOADS * 16;
    uint32_t seen = 0;
    for (uint64_t chunk = blockIdx.x; chunk < read.bytes / CHUNK; chunk += gridDim.x) {
        const uint8_t* at = read.data + chunk * CHUNK + threadIdx.x * 16;
        uint4 v[LOADS];
        // Volatile, so that all are issued before the first is used.
#pragma unroll
        for (uint32_t i = 0; i < LOADS; ++i) {
            asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(v[i].x), "=r"(v[i].y), "=r"(v[i].z), "=r"(v[i].w)
                         : "l"(at + uint64_t(i) * THREADS * 16));
        }
#pragma unroll
        for (uint32_t i = 0; i < LOADS; ++i) seen ^= v[i].x ^ v[i].y ^ v[i].z ^ v[i].w;
    }
    // The data are random: this is as good as never true, but who compiles it can't know.
    if (seen == 0x9e3779b9) *read.sink = seen;
}

constexpr uint32_t STAGES = 6;
constexpr uint32_t STAGE_BYTES = 32 * 1024;

__device__ __forceinline__ uint32_t shared_address(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }

extern "C" __global__ void __launch_bounds__(32, 1) read_bulk(const __grid_constant__ Read read) {
    extern __shared__ __align__(128) uint8_t stages[];
    __shared__ uint64_t full[STAGES];
    if (threadIdx.x != 0) return;
    for (uint32_t i = 0; i < STAGES; ++i) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[i])) : "memory");
    }
    // The copy engine, which is another proxy, sees the barriers.
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    const uint64_t chunks = read.bytes / STAGE_BYTES;
    const uint64_t own = blockIdx.x < chunks ? (chunks - blockIdx.x - 1) / gridDim.x + 1 : 0;
    uint32_t stage = 0, phase = 1;
    for (uint64_t i = 0; i < own + STAGES; ++i) {
        const uint32_t barrier = shared_address(&full[stage]);
        // Nobody reads the stage: it is free as soon as it is full.
        if (i >= STAGES && i - STAGES < own) {
            asm volatile(
                "{\n"
                ".reg .pred done;\n"
                "retry:\n"
                "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
                "@!done bra retry;\n"
                "}" ::"r"(barrier), "r"(phase) : "memory");
        }
        if (i < own) {
            const uint8_t* from = read.data + (blockIdx.x + i * gridDim.x) * STAGE_BYTES;
            asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(STAGE_BYTES)
                         : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                             shared_address(stages + stage * STAGE_BYTES)), "l"(from), "r"(STAGE_BYTES), "r"(barrier)
                         : "memory");
        }
        if (++stage == STAGES) {
            stage = 0;
            phase ^= 1;
        }
    }
}
