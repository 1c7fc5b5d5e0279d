// A tile is a strip of 16 outputs. Every warp multiplies its share of each page; at the end of a strip the warps are summed in order
// and each thread stores one output of one row.
dep_wait();
auto inputs = x.load(w);
StripSum sum(part);
for (auto page : w.pages()) {
    sum.add(page, inputs);
    if (page.last) {
        sum.join([&] { groups_sync(); });
        for (uint32_t i = role_thread(); i < T * 16; i += role_threads()) {
            const uint32_t t = i / 16, n = page.row + i % 16;
            if (n < N) y.store(t, n, sum.at(t, i % 16) + (bias ? bias.at(n) : 0.0f));
        }
    }
}
