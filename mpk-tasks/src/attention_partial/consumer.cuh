// Keys are shared out: a team of lanes holds 8 features each of one key, so a warp has several keys at once and all warps together
// KEYS of them. Every team keeps a running softmax for all query heads of the key/value head; at the end the teams are merged, by
// lanes and then over the warps in their order. The cache is read a pass ahead: the first pass before the wait, since the step's own
// keys are never read from there.
constexpr uint32_t SPLITS = 16, WIDTH = 8;
constexpr uint32_t D = head_dim, GROUP = Q / KV, KV_HEADS = KV / head_dim;
static_assert(D % 16 == 0 && D <= 256, "heads have up to 256 features, a multiple of 16");
static_assert(GROUP >= 1 && GROUP * D <= sizeof(q) / sizeof(float), "`q` holds the query heads that share a key");
constexpr uint32_t LANES = D <= 16 ? 2 : D <= 32 ? 4 : D <= 64 ? 8 : D <= 128 ? 16 : 32;
constexpr uint32_t TEAMS = 32 / LANES, KEYS = role_warps() * TEAMS, AT_ONCE = KEYS >= 32 || GROUP > 4 || MAX_STEP_ROWS > 1 ? 2 : 3;
static_assert(role_warps() * D <= sizeof(acc) / sizeof(float), "`acc` holds one head of every warp");
// Query heads whose warps are merged at once.
constexpr uint32_t FIT = sizeof(acc) / sizeof(float) / (role_warps() * D), MERGED = FIT < GROUP ? FIT : GROUP;
static_assert(MERGED * role_warps() * 2 <= sizeof(stat) / sizeof(float), "`stat` holds two numbers a warp and head");

const uint32_t team = role_warp() * TEAMS + lane() / LANES;
const uint32_t own = lane() % LANES * WIDTH;
const bool live = own < D;

// The cached positions of a split: as even as can be.
auto run_of = [&](uint32_t t) { return ceil_div(rows.cached(t), SPLITS); };
// The keys and values of a pass, as they are stored; beyond the split they are its last again.
uint4 keys[AT_ONCE] = {}, values[AT_ONCE] = {};
auto fetch = [&](uint32_t t, uint32_t h, uint32_t base, uint32_t end) {
    if (base >= end || !live) return;
#pragma unroll
    for (uint32_t j = 0; j < AT_ONCE; ++j) {
        const uint32_t position = smaller(base + j * KEYS + team, end - 1);
        const uint32_t page = rows.page(rows[t].slot, position), offset = position % PAGE_POSITIONS;
        keys[j] = kv.words(page, h, offset, own);
        values[j] = kv.words(page, KV_HEADS + h, offset, own);
    }
};
auto fetch_first = [&](uint32_t tile, uint32_t t) {
    const uint32_t begin = tile % SPLITS * run_of(t);
    fetch(t, tile / SPLITS, begin, smaller(begin + run_of(t), rows.cached(t)));
};

q_norm.prefetch(D);
k_norm.prefetch(D);
fetch_first(task.first_tile, 0);
dep_wait();

// Features `own..` of the head that begins at `first` of row `t`: normed if there is a norm, and rotated. The other half of a rotated
// pair lies half a head away.
auto rotated = [&](uint32_t t, uint32_t first, Vector norm) {
    Floats<WIDTH> a{}, b{};
    const uint32_t other = own < D / 2 ? own + D / 2 : own - D / 2;
    if (live) {
        a = qkv.template load<WIDTH>(t, first + own);
        b = qkv.template load<WIDTH>(t, first + other);
    }
    // All lanes take part in the sum, since teams may have different norms.
    float sum = 0;
    for (uint32_t i = 0; i < WIDTH; ++i) sum += a[i] * a[i];
    const float scale = rsqrtf(lane_sum<LANES>(sum) / D + eps);
    if (norm && live) {
        const Floats<WIDTH> wa = norm.load<WIDTH>(own), wb = norm.load<WIDTH>(other);
        for (uint32_t i = 0; i < WIDTH; ++i) {
            a[i] *= scale * wa[i];
            b[i] *= scale * wb[i];
        }
    }
    if (live) {
        const uint32_t position = rows[t].position, angle = own % (D / 2);
        const Floats<WIDTH> cosine = rope.cosines<WIDTH>(position, angle), sine = rope.sines<WIDTH>(position, angle);
        const float sign = own < D / 2 ? -1.0f : 1.0f;
        for (uint32_t i = 0; i < WIDTH; ++i) a[i] = a[i] * cosine[i] + sign * b[i] * sine[i];
    }
    return a;
};
auto value_of = [&](uint32_t t, uint32_t h) {
    return live ? qkv.template load<WIDTH>(t, Q + KV + h * D + own) : Floats<WIDTH>{};
};

for (uint32_t tile = task.first_tile; tile < task.first_tile + task.tiles; ++tile) {
    const uint32_t h = tile / SPLITS, split = tile % SPLITS;
    for (uint32_t t = 0; t < T; ++t) {
        if (tile != task.first_tile || t != 0) fetch_first(tile, t);
        // One head a team: the queries for all of them, and in split 0 the key and value of this row for the cache, where they are
        // read from the next step on.
#pragma unroll 1
        for (uint32_t base = 0; base < GROUP + 1; base += KEYS) {
            const uint32_t g = base + team;
            const bool is_key = g >= GROUP;
            const Floats<WIDTH> head = rotated(t, is_key ? Q + h * D : (h * GROUP + g) * D, is_key ? Vector(k_norm) : Vector(q_norm));
            if (!is_key && live) {
                for (uint32_t i = 0; i < WIDTH; ++i) q[g * D + own + i] = head[i] * rsqrtf(float(D));
            } else if (g == GROUP && split == 0 && live) {
                const uint32_t page = rows.page(rows[t].slot, rows[t].position), offset = rows[t].position % PAGE_POSITIONS;
                kv.store(page, h, offset, own, head);
                kv.store(page, KV_HEADS + h, offset, own, value_of(t, h));
            }
        }
        groups_sync();
        Floats<WIDTH> sum[GROUP];
        float max[GROUP], weight[GROUP];
#pragma unroll
        for (uint32_t g = 0; g < GROUP; ++g) {
            sum[g] = Floats<WIDTH>{};
            max[g] = negative_infinity();
            weight[g] = 0;
        }
        // Some keys of this team, of which those count that are valid; all lanes of the warp take part. Unpacked where they are used:
        // registers are scarce.
        auto add = [&](const uint4(&key)[AT_ONCE], const uint4(&value)[AT_ONCE], const bool(&valid)[AT_ONCE]) {
            float score[GROUP][AT_ONCE];
#pragma unroll
            for (uint32_t j = 0; j < AT_ONCE; ++j) {
                const Floats<WIDTH> k = unpacked(key[j]);
#pragma unroll
                for (uint32_t g = 0; g < GROUP; ++g) {
                    score[g][j] = 0;
                    for (uint32_t i = 0; i < WIDTH; ++i) score[g][j] += (live ? q[g * D + own + i] : 0.0f) * k[i];
                }
            }
#pragma unroll
            for (uint32_t g = 0; g < GROUP; ++g) {
                float larger = max[g];
#pragma unroll
                for (uint32_t j = 0; j < AT_ONCE; ++j) {
                    score[g][j] = lane_sum<LANES>(score[g][j]);
                    if (!valid[j]) score[g][j] = negative_infinity();
                    larger = fmaxf(larger, score[g][j]);
                }
                // Without any key so far all are -inf, and their differences are no numbers.
                const float zero = larger == negative_infinity() ? 0.0f : larger;
                const float keep = __expf(max[g] - zero);
                for (uint32_t i = 0; i < WIDTH; ++i) sum[g][i] *= keep;
                weight[g] *= keep;
#pragma unroll
                for (uint32_t j = 0; j < AT_ONCE; ++j) weight[g] += score[g][j] = __expf(score[g][j] - zero);
                max[g] = larger;
            }
#pragma unroll
            for (uint32_t j = 0; j < AT_ONCE; ++j) {
                const Floats<WIDTH> v = unpacked(value[j]);
#pragma unroll
                for (uint32_t g = 0; g < GROUP; ++g) {
                    for (uint32_t i = 0; i < WIDTH; ++i) sum[g][i] += v[i] * score[g][j];
                }
            }
        };

        const uint32_t begin = split * run_of(t), end = smaller(begin + run_of(t), rows.cached(t));
#pragma unroll 1
        for (uint32_t base = begin; base < end; base += KEYS * AT_ONCE) {
            uint4 key[AT_ONCE], value[AT_ONCE];
            bool valid[AT_ONCE];
#pragma unroll
            for (uint32_t j = 0; j < AT_ONCE; ++j) {
                key[j] = keys[j];
                value[j] = values[j];
                valid[j] = base + j * KEYS + team < end;
            }
            fetch(t, h, base + KEYS * AT_ONCE, end);
            add(key, value, valid);
        }
        // The step's own keys belong to the last split; they come from the input, never from the cache.
        if (split == SPLITS - 1) {
#pragma unroll 1
            for (uint32_t base = rows.first_peer(t); base <= t; base += KEYS) {
                const uint32_t peer = smaller(base + team, t);
                // As the cache holds them.
                const uint4 key[AT_ONCE] = {packed(rotated(peer, Q + h * D, k_norm))};
                const uint4 value[AT_ONCE] = {packed(value_of(peer, h))};
                const bool valid[AT_ONCE] = {base + team <= t};
                add(key, value, valid);
            }
        }

        // The teams of a warp: both sides of an exchange compute the same merge.
#pragma unroll
        for (uint32_t mask = LANES; mask < 32; mask *= 2) {
#pragma unroll
            for (uint32_t g = 0; g < GROUP; ++g) {
                const float other = __shfl_xor_sync(ALL_LANES, max[g], mask);
                const float larger = fmaxf(max[g], other);
                // Without any key both are -inf, and their difference is no number.
                const float mine = larger == negative_infinity() ? 0.0f : __expf(max[g] - larger);
                const float theirs = larger == negative_infinity() ? 0.0f : __expf(other - larger);
                weight[g] = weight[g] * mine + __shfl_xor_sync(ALL_LANES, weight[g], mask) * theirs;
                for (uint32_t i = 0; i < WIDTH; ++i) {
                    sum[g][i] = sum[g][i] * mine + __shfl_xor_sync(ALL_LANES, sum[g][i], mask) * theirs;
                }
                max[g] = larger;
            }
        }
        // The warps, as many query heads at once as fit.
#pragma unroll
        for (uint32_t first = 0; first < GROUP; first += MERGED) {
            const uint32_t count = smaller(GROUP - first, MERGED);
            // Who still reads the heads before, of this row or the one before it, is done.
            groups_sync();
#pragma unroll
            for (uint32_t g = first; g < first + count; ++g) {
                const uint32_t at = (g - first) * role_warps() + role_warp();
                if (lane() < LANES && live) {
                    for (uint32_t i = 0; i < WIDTH; ++i) acc[at * D + own + i] = sum[g][i];
                }
                if (lane() == 0) {
                    stat[at * 2] = max[g];
                    stat[at * 2 + 1] = weight[g];
                }
            }
            groups_sync();
            for (uint32_t i = role_thread(); i < count * (D + 2); i += role_threads()) {
                const uint32_t at = i / (D + 2) * role_warps(), feature = i % (D + 2);
                float largest = negative_infinity(), total = 0;
                for (uint32_t w = 0; w < role_warps(); ++w) largest = fmaxf(largest, stat[(at + w) * 2]);
                for (uint32_t w = 0; w < role_warps(); ++w) {
                    const float share = largest == negative_infinity() ? 0.0f : __expf(stat[(at + w) * 2] - largest);
                    total += share * (feature < D ? acc[(at + w) * D + feature] : stat[(at + w) * 2 + 1]);
                }
                part.store(t, (tile * GROUP + first) * (D + 2) + i, feature == D ? largest : total);
            }
        }
    }
}
