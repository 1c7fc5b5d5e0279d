// A warp takes a block of 512 features of one row, 16 features a lane. The key orders as the value and then as the lowest index: the
// value's bits made to order as unsigned integers above, the inverted index below; NaN is below all numbers.
constexpr uint32_t BLOCK = 512, WIDTH = 4;
dep_wait();
for (uint32_t job = role_warp(); job < task.tiles * T; job += role_warps()) {
    const uint32_t t = job % T, n = task.first_tile + job / T;
    Floats<WIDTH> values[BLOCK / 32 / WIDTH];
#pragma unroll
    for (uint32_t j = 0; j < BLOCK / 32 / WIDTH; ++j) {
        const uint32_t k = n * BLOCK + (j * 32 + lane()) * WIDTH;
        if (k < V) values[j] = x.template load<WIDTH>(t, k);
    }
    uint64_t best = 0;
#pragma unroll
    for (uint32_t j = 0; j < BLOCK / 32 / WIDTH; ++j) {
        for (uint32_t i = 0; i < WIDTH; ++i) {
            const uint32_t k = n * BLOCK + (j * 32 + lane()) * WIDTH + i;
            if (k >= V) continue;
            const uint32_t bits = __float_as_uint(values[j][i]);
            const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
            const uint32_t ordered = nan ? 0 : bits >> 31 ? ~bits : bits | 0x80000000u;
            const uint64_t key = uint64_t(ordered) << 32 | ~x.global(k);
            if (key > best) best = key;
        }
    }
    best = lane_max(best);
    if (lane() == 0) y.store(t, n, best);
}
