// The copies of all ranks lie on this one: they were pushed here. Summed in the order of the ranks, in f32.
dep_wait();
const uint32_t first = task.first_tile * 64;
const uint32_t count = smaller(task.tiles * 64, H - first);
for (uint32_t t = 0; t < T; ++t) {
    for (uint32_t i = role_thread(); i < count; i += role_threads()) {
        float sum = 0;
        for (uint32_t rank = 0; rank < x.ranks(); ++rank) sum += x.rank(rank).at(t, first + i);
        y.store(t, first + i, sum);
    }
}
