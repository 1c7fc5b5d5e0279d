// 64 features a tile: one thread for each sum, rows one after the other.
dep_wait();
const uint32_t first = task.first_tile * 64;
const uint32_t count = smaller(task.tiles * 64, H - first);
for (uint32_t t = 0; t < T; ++t) {
    for (uint32_t i = role_thread(); i < count; i += role_threads()) {
        const uint32_t n = first + i;
        y.store(t, n, r.at(t, n) + x.at(t, n));
    }
}
