// All threads share a row, 4 features each at a time. What a thread reads first it keeps in registers.
constexpr uint32_t WIDTH = 4, KEPT = 8;
dep_wait();
const uint32_t stride = role_threads() * WIDTH;
for (uint32_t t = task.first_tile; t < smaller(task.first_tile + task.tiles, T); ++t) {
    Floats<WIDTH> kept[KEPT];
    float sum = 0;
#pragma unroll
    for (uint32_t j = 0; j < KEPT; ++j) {
        const uint32_t k = role_thread() * WIDTH + j * stride;
        if (k < H) kept[j] = x.template load<WIDTH>(t, k);
    }
#pragma unroll
    for (uint32_t j = 0; j < KEPT; ++j) {
        if (role_thread() * WIDTH + j * stride < H) {
            for (uint32_t i = 0; i < WIDTH; ++i) sum += kept[j][i] * kept[j][i];
        }
    }
    for (uint32_t k = role_thread() * WIDTH + KEPT * stride; k < H; k += stride) {
        const Floats<WIDTH> v = x.template load<WIDTH>(t, k);
        for (uint32_t i = 0; i < WIDTH; ++i) sum += v[i] * v[i];
    }

    // By lane, then over the warps in their order.
    sum = lane_sum<32>(sum);
    if (lane() == 0) sums[role_warp()] = sum;
    groups_sync();
    float total = 0;
    for (uint32_t i = 0; i < role_warps(); ++i) total += sums[i];
    const float scale = rsqrtf(total / H + eps);
    // The next row writes the sums again.
    groups_sync();

#pragma unroll
    for (uint32_t j = 0; j < KEPT; ++j) {
        const uint32_t k = role_thread() * WIDTH + j * stride;
        for (uint32_t i = 0; i < WIDTH; ++i) {
            if (k + i < H) y.store(t, k + i, kept[j][i] * scale * norm.at(k + i));
        }
    }
    for (uint32_t k = role_thread() * WIDTH + KEPT * stride; k < H; k += stride) {
        const Floats<WIDTH> v = x.template load<WIDTH>(t, k);
        for (uint32_t i = 0; i < WIDTH; ++i) {
            if (k + i < H) y.store(t, k + i, v[i] * scale * norm.at(k + i));
        }
    }
}
