
#undef BARRIER
#define BARRIER() ((void)0)








#define NO_KEY 0xFFFFFFFFu
#define MORE 1.000030517578125f /* 1 + 2^-15: if rough scores differ by more, exact ones have the same order */
/* Compare a split with the best so far, by its exact score. */
#define CONSIDER(g, h, at) {     const df s = df_add(score(g, h, rule), score(node_g - (g), node_h - (h), rule));     if (ahead(s, at, best, best_at) && keeps_order(constraint, g, h, node_g - (g), node_h - (h), rule)) {         best = s;         best_at = at;         best_g = g;         best_h = h;     } }

#define RUN 256
#define NEVER (-2147483647 - 1) /* the bits of no score, and less than any score's */

/* The size of a sum: rough_score by conversions of 32 bits, which every CPU has for vectors. */
FN f32 rough_units(const i64 x) {
    const u64 size = x < 0 ? -(u64)x : (u64)x;
    return (f32)(i32)(size >> 31) * 128.0f + (f32)(i32)(size & 0x7fffffffu) * 5.9604644775390625e-8f;
}
#define SIZE(x) ((x) < 0.0f ? -(x) : (x))
/* Integers that order as the floats with these bits. */
#define SORTABLE(bits) ((bits) ^ (((bits) >> 31) & 0x7fffffff))

/* A side of a split, roughly, how far weight and score may be off, and whether the weight is surely
   at its bound: 1 the upper one, -1 the lower one. */
typedef struct { f32 weight; f32 score; f32 weight_error; f32 score_error; int bound; } side_t;

FN side_t rough(
        const i64 quanta_g, const i64 quanta_h, const rule_t rule, const f32 lower, const f32 upper) {
    const f32 size = rough_units(quanta_g), d = rough_units(quanta_h) + rule.lambda;
    const f32 left = size - rule.alpha, shrunk = left > 0.0f ? left : 0.0f;
    const f32 t = quanta_g < 0 ? -shrunk : shrunk;
    const f32 unbounded = -t / d, far = size / d * 4.76837158e-7f; /* 2^-21 */
    const f32 below = unbounded > upper ? upper : unbounded, w = below < lower ? lower : below;
    const f32 reach = SIZE(w);
    side_t side;
    side.weight = w;
    side.weight_error = far + reach * 4.76837158e-7f;
    side.bound = (unbounded - 2.0f * far > upper) - (unbounded + 2.0f * far < lower);
    side.score = -w * (2.0f * t + d * w);
    side.score_error = (reach + far) * (2.0f * size + d * reach) * 3.81469727e-6f; /* 2^-18 */
    return side;
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
    const u32 feature = GROUP_ID, first = levels[depth].first, count = levels[depth].count;
    const u32 offset = feature_offset[feature], n_bins = feature_bins[feature];
    const u32 n_own = feature_offset[feature + 1] - offset; /* codes: bins, and perhaps missing */
    const u32 full = fullest[feature];
    i64 own_h[RUN], sum_g[RUN], sum_h[RUN]; /* of a bin, and up to the border behind it */
    i32 bits[RUN];                          /* rough scores, as integers that order alike */
    for (u32 index = GROUP_ID_Y; index < count; index += N_GROUPS_Y) {
        GLOBAL const node_t* node = &nodes[first + index];
        const u32 n_words = (n_features + 31) / 32;
        const u32 searched = (allowed[(u64)index * n_words + feature / 32] >> feature % 32) & 1;
        GLOBAL const scale_t* own_scale = scale + node->tree;
        const i64 least = to_quanta(min_child_weight, own_scale->h - own_scale->weight_shift);
        const u32 constraint = constraints[feature];
        const rule_t unbounded = make_rule(own_scale, reg_lambda, reg_alpha, max_delta_step);
        const rule_t rule = within(unbounded, node->lower, node->upper);
        const f32 largest = rule.max_delta > 0.0f ? rule.max_delta : UNBOUNDED;
        const f32 lower = rule.lower > -largest ? (rule.lower < largest ? rule.lower : largest) : -largest;
        const f32 upper = rule.upper < largest ? (rule.upper > -largest ? rule.upper : -largest) : largest;
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
        i32 top = NEVER; /* what the best score reaches, whatever its error */
        i64 left_g = 0, left_h = 0;
        for (u32 start = searched ? 0 : n_bins; start < n_bins; start += RUN) {
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
                    i32 sure[16];
                    for (u32 k = first_of_16; k < first_of_16 + 16; k++) {
                        const i64 g = sum_g[k] + more_g, h = sum_h[k] + more_h;
                        /* A bin without rows has the same rows behind it as the bin before. */
                        const int allowed = (own_h[k] != 0) & (node_h - h > 0) & (h >= least)
                            & (node_h - h >= least);
                        const side_t l = rough(g, h, rule, lower, upper);
                        const side_t r = rough(node_g - g, node_h - h, rule, lower, upper);
                        const f32 s = l.score + r.score, error = l.score_error + r.score_error;
                        const i32 highest = (i32)as_u32(s + error), lowest = (i32)as_u32(s - error);
                        const f32 rises = r.weight - l.weight;
                        const f32 ordered = constraint == 2 ? -rises : rises;
                        const f32 doubt = l.weight_error + r.weight_error;
                        const int differ = (l.bound == 0) | (l.bound != r.bound);
                        const int may = allowed & differ & ((constraint == 0) | (ordered >= -doubt));
                        const f32 apart = constraint == 0 && rises < 0.0f ? -rises : ordered;
                        const int does = allowed & (apart > doubt);
                        bits[k] = may ? SORTABLE(highest) : NEVER;
                        sure[k - first_of_16] = does ? SORTABLE(lowest) : NEVER;
                    }
                    for (u32 k = 0; k < 16; k++) most = sure[k] > most ? sure[k] : most;
                    top = most > top ? most : top;
                }
                for (u32 k = 0; k < padded; k++) {
                    if (bits[k] == NEVER) continue;
                    if (bits[k] < top) continue;
                    const i64 g = sum_g[k] + more_g, h = sum_h[k] + more_h;
                    const u32 at = 2 * (start + k) + direction;
                    CONSIDER(g, h, at)
                }
            }
        }
        GLOBAL candidate_t* out = &candidates[(u64)index * n_features + feature];
        out->left_g = best_g;
        out->left_h = best_h;
        out->score_hi = best.hi;
        out->score_lo = best.lo;
        out->feature = feature;
        out->bin_direction = best_at;
    }
}
