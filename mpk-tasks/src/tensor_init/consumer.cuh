// 64 words a tile. There is nothing to wait for: it runs before all else, and never again.
dep_wait();
const uint32_t first = task.first_tile * 64;
const uint32_t count = smaller(task.tiles * 64, N - first);
for (uint32_t t = 0; t < T; ++t) {
    for (uint32_t i = role_thread(); i < count; i += role_threads()) y.store(t, first + i, uint64_t(value));
}
