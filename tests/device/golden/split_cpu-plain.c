
#undef BARRIER
#define BARRIER() ((void)0)








#define NO_KEY 0xFFFFFFFFu
#define MORE 1.000030517578125f /* 1 + 2^-15: if rough scores differ by more, exact ones have the same order */
/* Compare a split with the best so far, by its exact score. */
#define CONSIDER(g, h, at) {     const df s = df_add(score(g, h, rule), score(node_g - (g), node_h - (h), rule));     if (ahead(s, at, best, best_at)) {         best = s;         best_at = at;         best_g = g;         best_h = h;     } }

#define RUN 256
#define NEVER (-1) /* the bits of no score, and less than any score's */

/* The size of a sum: rough_score by conversions of 32 bits, which every CPU has for vectors. */
FN f32 rough_units(const i64 x) {
    const u64 size = x < 0 ? -(u64)x : (u64)x;
    return (f32)(i32)(size >> 31) * 128.0f + (f32)(i32)(size & 0x7fffffffu) * 5.9604644775390625e-8f;
}
FN f32 rough(const i64 g, const i64 h, const rule_t rule) {
    const f32 t = rough_units(g), d = rough_units(h) + rule.lambda;
    return t * t / d;
}

KERNEL(1) find(
        const u32 depth, const u32 n_features, const u32 n_codes,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step,
        const f32 min_child_weight, GLOBAL const u32* RESTRICT constraints,
        GLOBAL const u32* RESTRICT allowed,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const u32* RESTRICT fullest,
        GLOBAL i64* pool,
        GLOBAL candidate_t* RESTRICT candidates) {
    (void)constraints;
    (void)allowed;
    const u32 feature = GROUP_ID, first = levels[depth].first, count = levels[depth].count;
    const u32 offset = feature_offset[feature], n_bins = feature_bins[feature];
    const u32 n_own = feature_offset[feature + 1] - offset; /* codes: bins, and perhaps missing */
    const u32 full = fullest[feature];
    i64 own_h[RUN], sum_g[RUN], sum_h[RUN]; /* of a bin, and up to the border behind it */
    i32 bits[RUN];                          /* rough scores, as integers that order alike */
    for (u32 index = GROUP_ID_Y; index < count; index += N_GROUPS_Y) {
        GLOBAL const node_t* node = &nodes[first + index];
        GLOBAL const scale_t* own_scale = scale + node->tree;
        const i64 least = to_quanta(min_child_weight, own_scale->h - own_scale->weight_shift);
        const rule_t rule = make_rule(own_scale, reg_lambda, reg_alpha, max_delta_step);
        GLOBAL i64* cells = pool + 2 * ((u64)node->slot * n_codes + offset);
        if (node->sibling_slot >= 0) {
            GLOBAL const i64* sibling = pool + 2 * ((u64)node->sibling_slot * n_codes + offset);
            for (u32 k = 0; k < 2 * n_own; k++) cells[k] -= sibling[k];
        }
        const i64 node_g = node->sum_g, node_h = node->sum_h;
        i64 all_g = 0, all_h = 0; /* added: Intel's runtime 2025.2 subtracts such a row wrongly */
        for (u32 code = 0; code < n_own; code++) {
            all_g += cells[2 * code];
            all_h += cells[2 * code + 1];
        }
        const i64 full_g = node_g - (all_g - cells[2 * full]);
        const i64 full_h = node_h - (all_h - cells[2 * full + 1]);
        i64 missing_g = 0, missing_h = 0;
        if (full == n_bins) {
            missing_g = full_g;
            missing_h = full_h;
        } else if (n_own > n_bins) {
            missing_g = cells[2 * n_bins];
            missing_h = cells[2 * n_bins + 1];
        }
        df best = df_make(NO_SCORE, 0.0f);
        u32 best_at = NO_KEY;
        i64 best_g = 0, best_h = 0;
        f32 waiting = -1.0f;
        i64 waiting_g = 0, waiting_h = 0;
        u32 waiting_at = NO_KEY;
        f32 top = 0.0f; /* the best rough score */
        i64 left_g = 0, left_h = 0;
        for (u32 start = 0; start < n_bins; start += RUN) {
            const u32 n = n_bins - start < RUN ? n_bins - start : RUN;
            const u32 padded = (n + 15) / 16 * 16;
            for (u32 k = 0; k < n; k++) {
                const u32 bin = start + k;
                own_h[k] = bin == full ? full_h : cells[2 * bin + 1];
                left_g += bin == full ? full_g : cells[2 * bin];
                left_h += own_h[k];
                sum_g[k] = left_g;
                sum_h[k] = left_h;
            }
            for (u32 k = n; k < padded; k++) own_h[k] = sum_g[k] = sum_h[k] = 0;
            for (u32 direction = 0; direction < (missing_h > 0 ? 2u : 1u); direction++) {
                const i64 more_g = direction ? missing_g : 0, more_h = direction ? missing_h : 0;
                for (u32 first_of_16 = 0; first_of_16 < padded; first_of_16 += 16) {
                    i32 most = NEVER;
                    for (u32 k = first_of_16; k < first_of_16 + 16; k++) {
                        const i64 g = sum_g[k] + more_g, h = sum_h[k] + more_h;
                        /* A bin without rows has the same rows behind it as the bin before. */
                        const int allowed = (own_h[k] != 0) & (node_h - h > 0) & (h >= least)
                            & (node_h - h >= least);
                        const f32 s = rough(g, h, rule) + rough(node_g - g, node_h - h, rule);
                        bits[k] = allowed ? (i32)as_u32(s) : NEVER;
                    }
                    for (u32 k = first_of_16; k < first_of_16 + 16; k++)
                        most = bits[k] > most ? bits[k] : most;
                    if (most != NEVER && as_f32(most) > top) top = as_f32(most);
                }
                for (u32 k = 0; k < padded; k++) {
                    if (bits[k] == NEVER) continue;
                    const f32 near = as_f32(bits[k]);
                    if (near * MORE < top) continue;
                    const i64 g = sum_g[k] + more_g, h = sum_h[k] + more_h;
                    const u32 at = 2 * (start + k) + direction;
                    if (near > waiting * MORE) { /* what waits cannot be the best */
                        waiting = near;
                        waiting_g = g;
                        waiting_h = h;
                        waiting_at = at;
                        continue;
                    }
                    CONSIDER(g, h, at)
                }
            }
        }
        if (waiting >= 0.0f) CONSIDER(waiting_g, waiting_h, waiting_at)
        GLOBAL candidate_t* out = &candidates[(u64)index * n_features + feature];
        out->left_g = best_g;
        out->left_h = best_h;
        out->score_hi = best.hi;
        out->score_lo = best.lo;
        out->feature = feature;
        out->bin_direction = best_at;
    }
}
