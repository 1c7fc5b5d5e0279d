// As linear_v3. The norm's divisor is known with the sums, which it scales.
norm.prefetch(K);
dep_wait();
auto inputs = x.load(w, norm, squares);
StripSum sum(part);
for (auto page : w.pages()) {
    sum.add(page, inputs);
    if (page.last) {
        sum.join([&] { groups_sync(); });
        for (uint32_t i = role_thread(); i < T * 16; i += role_threads()) {
            const uint32_t t = i / 16, n = page.row + i % 16;
            if (n < N) y.store(t, n, inputs.scale(t, eps) * sum.at(t, i % 16) + (bias ? bias.at(n) : 0.0f));
        }
    }
}
