// A warp takes a row: the largest key over the blocks of all ranks, whose low half is the inverted index.
dep_wait();
for (uint32_t t = task.first_tile + role_warp(); t < smaller(task.first_tile + task.tiles, T); t += role_warps()) {
    uint64_t best = 0;
    for (uint32_t rank = 0; rank < x.ranks(); ++rank) {
        for (uint32_t b = lane(); b < B; b += 32) {
            const uint64_t key = x.rank(rank).at(t, b);
            if (key > best) best = key;
        }
    }
    best = lane_max(best);
    if (lane() == 0) y.store(t, 0, ~uint32_t(best));
}
