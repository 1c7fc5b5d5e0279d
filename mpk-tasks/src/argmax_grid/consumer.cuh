// Each instance has a run of features, a multiple of what a load takes; a warp has a row of it.
constexpr uint32_t WIDTH = 4;
dep_wait();
const uint32_t share = ceil_div(ceil_div(V, at.count), WIDTH) * WIDTH;
const uint32_t begin = smaller(at.index * share, V), end = smaller(begin + share, V);
for (uint32_t t = role_warp(); t < T; t += role_warps()) {
    uint64_t key = 0;
    for (uint32_t k = begin + lane() * WIDTH; k < end; k += 32 * WIDTH) {
        const Floats<WIDTH> values = x.template load<WIDTH>(t, k);
        for (uint32_t i = 0; i < WIDTH; ++i) {
            const uint64_t other = rank_key(values[i], k + i);
            if (k + i < end && other > key) key = other;
        }
    }
    key = lane_max(key);
    if (lane() == 0) best.store(0, 0, t, at.index, key);
}
if (role_thread() == 0) seen.add(0, 0, 0, 0, 1);
grid_barrier();
// The output has one feature, which belongs to the last instance.
if (at.index + 1 == at.count) {
    for (uint32_t t = role_warp(); t < T; t += role_warps()) {
        uint64_t key = 0;
        for (uint32_t i = lane(); i < at.count; i += 32) {
            const uint64_t other = best.at(0, 0, t, i);
            if (other > key) key = other;
        }
        key = lane_max(key);
        if (lane() == 0) y.store(t, 0, ~uint32_t(key));
    }
}
