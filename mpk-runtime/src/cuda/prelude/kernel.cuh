// The entry: barriers once, then the roles part for good.
#pragma once
#include "mpk/consumer.cuh"
#include "mpk/controller.cuh"

namespace mpk {

template <uint32_t REGISTERS> MPK_DEVICE void take_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }
template <uint32_t REGISTERS> MPK_DEVICE void give_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }

MPK_DEVICE void worker(const Params& params) {
    if (threadIdx.x == 0) init_shared(params);
    // The initialised barriers are visible to all roles. It is the only barrier of the whole block.
    __syncthreads();
    const uint32_t warp = threadIdx.x / 32;
    if (warp >= WARPS) {
        give_registers<SERVICE_REGISTERS>();
        const bool first_lane = lane() == 0;
        if (warp == WARPS) {
            if (first_lane) load_pages(params);
        } else if (warp == WARPS + 1) {
            if (first_lane) load_packets(params);
        } else if (warp == WARPS + 2) {
            if (blockIdx.x == 0) control(params);
        }
    } else {
        take_registers<CONSUMER_REGISTERS>();
        consume(params);
    }
}

}  // namespace mpk

extern "C" __global__ void __launch_bounds__(mpk::THREADS, 1) mpk_kernel(const __grid_constant__ mpk::Params params) { mpk::worker(params); }
