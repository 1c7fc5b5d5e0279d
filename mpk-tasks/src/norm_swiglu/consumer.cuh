// As norm_linear. A strip of the gate and one of up follow each other: a thread keeps its gates until it has what they gate.
norm.prefetch(K);
dep_wait();
auto inputs = x.load(w, norm, squares);
StripSum sum(part);
constexpr uint32_t SHARE = MAX_STEP_ROWS * 16 / role_threads() + (MAX_STEP_ROWS * 16 % role_threads() != 0);
float gates[SHARE] = {};
for (auto page : w.pages()) {
    sum.add(page, inputs);
    if (page.last) {
        sum.join([&] { groups_sync(); });
        const bool is_up = page.row / 16 % 2 != 0;
#pragma unroll
        for (uint32_t j = 0; j < SHARE; ++j) {
            const uint32_t i = role_thread() + j * role_threads(), t = i / 16, n = page.row / 32 * 16 + i % 16;
            if (i >= T * 16 || n >= I) continue;
            const float v = inputs.scale(t, eps) * sum.at(t, i % 16) + (bias ? bias.at(is_up ? I + n : n) : 0.0f);
            if (is_up) {
                y.store(t, n, gates[j] / (1.0f + __expf(-gates[j])) * v);
            } else {
                gates[j] = v;
            }
        }
    }
}
