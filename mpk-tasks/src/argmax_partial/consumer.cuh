// A warp takes a block of 512 features of one row, 16 features a lane.
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
            const uint64_t key = rank_key(values[j][i], x.global(k));
            if (key > best) best = key;
        }
    }
    best = lane_max(best);
    if (lane() == 0) y.store(t, n, best);
}
