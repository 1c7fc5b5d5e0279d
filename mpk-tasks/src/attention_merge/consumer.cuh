// A thread takes one feature of one query head; the splits are summed in their order, each scaled to the largest maximum.
constexpr uint32_t SPLITS = 16;
dep_wait();
const uint32_t group = Q / KV, width = head_dim + 2;
const uint32_t features = task.tiles * head_dim;
for (uint32_t t = 0; t < T; ++t) {
    for (uint32_t i = role_thread(); i < features; i += role_threads()) {
        const uint32_t n = task.first_tile * head_dim + i;
        const uint32_t head = n / head_dim, first = (head / group * SPLITS * group + head % group) * width;
        float value[SPLITS], max[SPLITS], weight[SPLITS];
#pragma unroll
        for (uint32_t s = 0; s < SPLITS; ++s) {
            const uint32_t split = first + s * group * width;
            value[s] = part.at(t, split + n % head_dim);
            max[s] = part.at(t, split + head_dim);
            weight[s] = part.at(t, split + head_dim + 1);
        }
        float largest = negative_infinity();
        for (uint32_t s = 0; s < SPLITS; ++s) largest = fmaxf(largest, max[s]);
        float sum = 0, total = 0;
        for (uint32_t s = 0; s < SPLITS; ++s) {
            // A split without positions has maximum -inf, and so weight 0.
            const float scale = __expf(max[s] - largest);
            sum += value[s] * scale;
            total += weight[s] * scale;
        }
        y.store(t, n, sum / total);
    }
}
