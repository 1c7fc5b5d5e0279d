// As linear_v3. The residual of a strip is read when its first page is, so that it is there when the last one is done.
dep_wait();
auto inputs = x.load(w);
StripSum sum(part);
constexpr uint32_t SHARE = MAX_STEP_ROWS * 16 / role_threads() + (MAX_STEP_ROWS * 16 % role_threads() != 0);
float residual[SHARE] = {};
for (auto page : w.pages()) {
    if (page.first) {
#pragma unroll
        for (uint32_t j = 0; j < SHARE; ++j) {
            const uint32_t i = role_thread() + j * role_threads(), n = page.row + i % 16;
            residual[j] = i < T * 16 && n < N ? r.at(i / 16, n) : 0.0f;
        }
    }
    sum.add(page, inputs);
    if (page.last) {
        sum.join([&] { groups_sync(); });
#pragma unroll
        for (uint32_t j = 0; j < SHARE; ++j) {
            const uint32_t i = role_thread() + j * role_threads(), n = page.row + i % 16;
            if (i < T * 16 && n < N) y.store(i / 16, n, residual[j] + (sum.at(i / 16, i % 16) + (bias ? bias.at(n) : 0.0f)));
        }
    }
}
