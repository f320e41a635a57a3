








FN void group_scan(const i64 value0, const i64 value1, LOCAL i64* shared, i64* before0, i64* total0, i64* before1, i64* total1) {
    const u32 id = LOCAL_ID;
    shared[0 + id] = value0;
    shared[64 + id] = value1;
    BARRIER();
    if (id < 16) {
        i64 sum = 0;
        for (u32 i = id * 8; i < (id + 1) * 8; i++) {
            sum += shared[i];
            shared[i] = sum;
        }
    }
    BARRIER();
    {
        i64 before = 0, all = 0;
        for (u32 run_end = 7; run_end < 64; run_end += 8) {
            const i64 sum = shared[0 + run_end];
            if (run_end < id - id % 8) before += sum;
            all += sum;
        }
        *before0 = before + shared[0 + id] - value0;
        *total0 = all;
    }
    {
        i64 before = 0, all = 0;
        for (u32 run_end = 7; run_end < 64; run_end += 8) {
            const i64 sum = shared[64 + run_end];
            if (run_end < id - id % 8) before += sum;
            all += sum;
        }
        *before1 = before + shared[64 + id] - value1;
        *total1 = all;
    }
    BARRIER();
}



FN f32 group_max(const f32 value, LOCAL f32* shared) {
    const u32 id = LOCAL_ID;
    shared[id] = value;
    BARRIER();
    f32 most = shared[id - id % 8];
    for (u32 i = 1; i < 8; i++) {
        const f32 other = shared[id - id % 8 + i];
        most = other > most ? other : most;
    }
    BARRIER();
    if (id % 8 == 0) shared[id] = most;
    BARRIER();
    for (u32 i = 0; i < 64; i += 8) most = shared[i] > most ? shared[i] : most;
    BARRIER();
    return most;
}




/* Give the group's best (score, key) to every work-item. */
FN void group_best(df* best, u32* key, LOCAL f32* hi, LOCAL f32* lo, LOCAL u32* keys) {
    const u32 id = LOCAL_ID;
    hi[id] = best->hi;
    lo[id] = best->lo;
    keys[id] = *key;
    BARRIER();

    if (id < 8) { /* the best of 8 */
        const u32 mine = id * 8;
        for (u32 other = mine + 1; other < mine + 8; other += 1) {
            if (ahead(df_make(hi[other], lo[other]), keys[other], df_make(hi[mine], lo[mine]), keys[mine])) {
                hi[mine] = hi[other];
                lo[mine] = lo[other];
                keys[mine] = keys[other];
            }
        }
    }
    BARRIER();

    if (id < 1) { /* the best of 8 */
        const u32 mine = id * 64;
        for (u32 other = mine + 8; other < mine + 64; other += 8) {
            if (ahead(df_make(hi[other], lo[other]), keys[other], df_make(hi[mine], lo[mine]), keys[mine])) {
                hi[mine] = hi[other];
                lo[mine] = lo[other];
                keys[mine] = keys[other];
            }
        }
    }
    BARRIER();
    *best = df_make(hi[0], lo[0]);
    *key = keys[0];
    BARRIER();
}



#define NO_KEY 0xFFFFFFFFu
#define MORE 1.000030517578125f /* 1 + 2^-15: if rough scores differ by more, exact ones have the same order */
/* Compare a split with the best so far, by its exact score. */
#define CONSIDER(g, h, at) {     const df s = df_add(score(g, h, rule), score(node_g - (g), node_h - (h), rule));     if (ahead(s, at, best, best_at) && keeps_order(constraint, g, h, node_g - (g), node_h - (h), rule)) {         best = s;         best_at = at;         best_g = g;         best_h = h;     } }

/* The sums of a bin, as sum_g and sum_h, in one access of 16 bytes. */
#define FETCH(cells, bin)     const i64x2 sum = ((GLOBAL const i64x2*)(cells))[bin];     const i64 sum_g = sum.x, sum_h = sum.y;
#define KEEP(cells, bin, g, h) ((GLOBAL i64x2*)(cells))[bin] = MAKE_I64X2(g, h);
/* Bins whose sums are fetched together: one after the other, each would wait for memory. */
#define AT_ONCE 4

KERNEL(64) find(
        const u32 depth, const u32 n_features, const u32 n_codes,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step,
        const f32 min_child_weight, GLOBAL const u32* RESTRICT constraints,
        GLOBAL const u32* RESTRICT allowed,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const u32* RESTRICT fullest,
        GLOBAL i64* pool,
        GLOBAL candidate_t* RESTRICT candidates) {
    LOCAL_ARRAY(i64, shared, 128);
    LOCAL_ARRAY(i64, missing, 2);
    LOCAL_ARRAY(f32, best_hi, 64);
    LOCAL_ARRAY(f32, best_lo, 64);
    LOCAL_ARRAY(u32, best_key, 64);
    const u32 feature = GROUP_ID, first = levels[depth].first, count = levels[depth].count;
    const u32 offset = feature_offset[feature], n_bins = feature_bins[feature];
    const int has_missing = feature_offset[feature + 1] - offset > n_bins;
    const u32 full = fullest[feature];
    const u32 run = (n_bins + 63) / 64;
    const u32 run_begin = LOCAL_ID * run < n_bins ? LOCAL_ID * run : n_bins;
    const u32 run_end = run_begin + run < n_bins ? run_begin + run : n_bins;
    for (u32 index = GROUP_ID_Y; index < count; index += N_GROUPS_Y) {
        GLOBAL const node_t* node = &nodes[first + index];
        const u32 n_words = (n_features + 31) / 32;
        const u32 searched = (allowed[(u64)index * n_words + feature / 32] >> feature % 32) & 1;
        GLOBAL const scale_t* own_scale = scale + node->tree;
        const i64 least = to_quanta(min_child_weight, own_scale->h - own_scale->weight_shift);
        const u32 constraint = constraints[feature];
        const rule_t unbounded = make_rule(own_scale, reg_lambda, reg_alpha, max_delta_step);
        const rule_t rule = within(unbounded, node->lower, node->upper);
        const int exact_only = 1;
        GLOBAL i64* cells = pool + 2 * ((u64)node->slot * n_codes + offset);
        GLOBAL const i64* sibling = node->sibling_slot < 0
            ? cells : pool + 2 * ((u64)node->sibling_slot * n_codes + offset);
        const int subtract = node->sibling_slot >= 0;

        i64 left_g = 0, left_h = 0;
        for (u32 base = run_begin; base < run_end; base += AT_ONCE) {
            i64 g[AT_ONCE], h[AT_ONCE];
            for (u32 k = 0; k < AT_ONCE; k++) {
                const u32 bin = base + k < run_end ? base + k : base;
                FETCH(cells, bin)
                g[k] = sum_g;
                h[k] = sum_h;
                if (subtract) {
                    FETCH(sibling, bin)
                    g[k] -= sum_g;
                    h[k] -= sum_h;
                }
            }
            for (u32 k = 0; k < AT_ONCE; k++) {
                const u32 bin = base + k;
                if (bin >= run_end) break;
                if (subtract) KEEP(cells, bin, g[k], h[k])
                if (bin != full) {
                    left_g += g[k];
                    left_h += h[k];
                }
            }
        }
        if (LOCAL_ID == 0) {
            i64 g = 0, h = 0;
            if (has_missing) {
                g = cells[2 * n_bins] - (subtract ? sibling[2 * n_bins] : 0);
                h = cells[2 * n_bins + 1] - (subtract ? sibling[2 * n_bins + 1] : 0);
                if (subtract) { /* else the sibling's group may be reading them */
                    cells[2 * n_bins] = g;
                    cells[2 * n_bins + 1] = h;
                }
            }
            missing[0] = g;
            missing[1] = h;
        }
        BARRIER();
        const i64 node_g = node->sum_g, node_h = node->sum_h;
        i64 missing_g = missing[0], missing_h = missing[1], full_g, full_h;
        group_scan(left_g, left_h, shared, &left_g, &full_g, &left_h, &full_h);
        full_g = node_g - full_g;
        full_h = node_h - full_h;
        if (full == n_bins) {
            missing_g = full_g;
            missing_h = full_h;
        } else {
            full_g -= missing_g;
            full_h -= missing_h;
            if (run_begin > full) {
                left_g += full_g;
                left_h += full_h;
            }
        }
        df best = df_make(NO_SCORE, 0.0f);
        u32 best_at = NO_KEY;
        i64 best_g = 0, best_h = 0;
        /* Exact scores cost ten times rough ones: only work-items near the group's best go on. */
        i64 before_g = left_g, before_h = left_h;
        f32 most = -1.0f;
        const u32 search_end = searched ? run_end : run_begin;
        const u32 rough_end = exact_only ? run_begin : search_end;
        for (u32 bin = run_begin; bin < rough_end; bin++) {
            FETCH(cells, bin)
            const i64 bin_h = bin == full ? full_h : sum_h;
            before_g += bin == full ? full_g : sum_g;
            before_h += bin_h;
            if (bin_h == 0) continue; /* as below */
            for (u32 direction = 0; direction < (missing_h > 0 ? 2u : 1u); direction++) {
                const i64 g = before_g + (direction ? missing_g : 0);
                const i64 h = before_h + (direction ? missing_h : 0);
                if (node_h - h <= 0 || h < least || node_h - h < least) continue;
                const f32 rough = rough_score(g, h, rule) + rough_score(node_g - g, node_h - h, rule);
                most = rough > most ? rough : most;
            }
        }
        const f32 least_rough = group_max(most, best_hi) * 0.999969482421875f; /* 1 - 2^-15 */
        /* below it no score can be the best */
        const f32 least_score = exact_only ? -1.0f : least_rough;
        const u32 near_end = most < least_score ? run_begin : search_end;
        for (u32 bin = run_begin; bin < near_end; bin++) {
            FETCH(cells, bin)
            const i64 bin_h = bin == full ? full_h : sum_h;
            left_g += bin == full ? full_g : sum_g;
            left_h += bin_h;
            if (bin_h == 0) continue; /* the same rows as behind the bin before */
            for (u32 direction = 0; direction < (missing_h > 0 ? 2u : 1u); direction++) {
                const i64 g = left_g + (direction ? missing_g : 0);
                const i64 h = left_h + (direction ? missing_h : 0);
                if (node_h - h <= 0 || h < least || node_h - h < least) continue;
                const u32 at = 2 * bin + direction;
                if (!exact_only) {
                    const f32 rough = rough_score(g, h, rule) + rough_score(node_g - g, node_h - h, rule);
                    if (rough < least_score || rough * MORE < best.hi) continue;
                }
                CONSIDER(g, h, at)
            }
        }
        const u32 mine = best_at;
        group_best(&best, &best_at, best_hi, best_lo, best_key);
        if (best_at == NO_KEY ? LOCAL_ID == 0 : mine == best_at) {
            GLOBAL candidate_t* out = &candidates[(u64)index * n_features + feature];
            out->left_g = best_g;
            out->left_h = best_h;
            out->score_hi = best.hi;
            out->score_lo = best.lo;
            out->feature = feature;
            out->bin_direction = best_at;
        }
    }
}
