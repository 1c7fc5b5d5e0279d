// A gather from the packed table, so that a tied table is stored once. No activation is read, so there is nothing to wait for: the
// boundary between two steps comes after the last read of what is overwritten here.
dep_wait();
const uint32_t first = task.first_tile * 64;
const uint32_t count = smaller(task.tiles * 64, H - first);
for (uint32_t t = 0; t < T; ++t) {
    const uint32_t token = rows[t].token;
    for (uint32_t i = role_thread(); i < count; i += role_threads()) y.store(t, first + i, w.at(token, first + i));
}
