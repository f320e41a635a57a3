
#undef BARRIER
#define BARRIER() ((void)0)











#define NO_KEY 0xFFFFFFFFu
#define MORE 1.000030517578125f /* 1 + 2^-15: if rough scores differ by more, exact ones have the same order */

/* The best split so far: its score, its key, and the sums of its left child. */
typedef struct { df score; u32 at; i64 g; i64 h; } best_t;

FN best_t no_split(void) {
    best_t best;
    best.score = df_make(NO_SCORE, 0.0f);
    best.at = NO_KEY;
    best.g = best.h = 0;
    return best;
}

/* Compare a split with the best so far, by its exact score. */
FN void consider(best_t* best, const i64 g, const i64 h, const u32 at,
                 const i64 node_g, const i64 node_h, const rule_t rule) {
    const i64 right_g = node_g - g, right_h = node_h - h;
    const df s = df_add(score(g, h, rule), score(right_g, right_h, rule));
    if (ahead(s, at, best->score, best->at)) {
        best->score = s;
        best->at = at;
        best->g = g;
        best->h = h;
    }
}

FN void write_candidate(GLOBAL candidate_t* out, const u32 feature, const best_t best) {
    out->left_g = best.g;
    out->left_h = best.h;
    out->score_hi = best.score.hi;
    out->score_lo = best.score.lo;
    out->feature = feature;
    out->bin_direction = best.at;
}



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

/* A feature of a node: what its borders are scored with. */
typedef struct {
    i64 full_g, full_h;       /* of the fullest code */
    i64 missing_g, missing_h;
    i64 node_g, node_h;
    i64 least;                /* Hessian of a child */
    rule_t rule;
} feature_t;

/* The best split so far, and what keeps others from an exact score. */
typedef struct {
    best_t best;
    f32 top;                  /* the best rough score */
    f64 waiting;              /* a rough score that waits for its exact one */
    i64 waiting_g, waiting_h;
    u32 waiting_at;
} search_t;

FN search_t no_search(void) {
    search_t search;
    search.best = no_split();
    search.top = 0.0f;
    search.waiting = -1.0f;
    search.waiting_g = search.waiting_h = 0;
    search.waiting_at = NO_KEY;
    return search;
}

/* The sums of the fullest code, which may be missing from the histogram, and of missing values. */
FN void sum_apart(GLOBAL const i64* cells, const u32 n_codes, const u32 n_bins, const u32 full,
                  feature_t* feature) {
    i64 all_g = 0, all_h = 0; /* added: Intel's runtime 2025.2 subtracts such a row wrongly */
    for (u32 code = 0; code < n_codes; code++) {
        all_g += cells[2 * code];
        all_h += cells[2 * code + 1];
    }
    feature->full_g = feature->node_g - (all_g - cells[2 * full]);
    feature->full_h = feature->node_h - (all_h - cells[2 * full + 1]);
    feature->missing_g = feature->missing_h = 0;
    if (full == n_bins) {
        feature->missing_g = feature->full_g;
        feature->missing_h = feature->full_h;
    } else if (n_codes > n_bins) {
        feature->missing_g = cells[2 * n_bins];
        feature->missing_h = cells[2 * n_bins + 1];
    }
}

/* Rough scores of 16 borders, as integers that order alike. */
FN void score_16(const i64* own_h, const i64* sum_g, const i64* sum_h, const i64 more_g,
                 const i64 more_h, const feature_t* feature, i32* bits, search_t* search) {
    const i64 node_g = feature->node_g, node_h = feature->node_h, least = feature->least;
    const rule_t rule = feature->rule;
    i32 most = NEVER;
    for (u32 k = 0; k < 16; k++) {
        const i64 g = sum_g[k] + more_g, h = sum_h[k] + more_h;
        /* A bin without rows has the same rows behind it as the bin before. */
        const int allowed = (own_h[k] != 0) & may_split(h, node_h - h, least);
        const f32 s = rough(g, h, rule) + rough(node_g - g, node_h - h, rule);
        bits[k] = allowed ? (i32)as_u32(s) : NEVER;
    }
    for (u32 k = 0; k < 16; k++) most = bits[k] > most ? bits[k] : most;
    if (most != NEVER && as_f32(most) > search->top) search->top = as_f32(most);
}

/* Give a border with these rough bits its exact score, unless that cannot be the best. */
FN void look_closer(const i32 bits, const i64 g, const i64 h, const u32 at,
                    const feature_t* feature, search_t* search) {
    if (bits == NEVER) return;
    if (as_f32(bits) * MORE < search->top) return;
    const f64 near = score_in_f64(g, h, feature->rule)
                     + score_in_f64(feature->node_g - g, feature->node_h - h, feature->rule);
    if (near * MORE_F64 < search->waiting) return; /* what waits is better */
    if (near > search->waiting * MORE_F64) {
        search->waiting = near;
        search->waiting_g = g;
        search->waiting_h = h;
        search->waiting_at = at;
        return;
    }
    consider(&search->best, g, h, at, feature->node_g, feature->node_h, feature->rule);
}

/* Find the best split of a node's feature. */
FN best_t search_borders(GLOBAL const i64* cells, const u32 n_bins, const u32 full,
                         const feature_t* feature) {
    i64 own_h[RUN], sum_g[RUN], sum_h[RUN]; /* of a bin, and up to the border behind it */
    i32 bits[RUN];                          /* rough scores */
    search_t search = no_search();
    i64 left_g = 0, left_h = 0;
    for (u32 start = 0; start < n_bins; start += RUN) {
        const u32 behind = n_bins - start < RUN ? n_bins : start + RUN;
        u32 n = 0;
        for (u32 bin = start; bin < behind; bin++) {
            own_h[n] = bin == full ? feature->full_h : cells[2 * bin + 1];
            left_g += bin == full ? feature->full_g : cells[2 * bin];
            left_h += own_h[n];
            sum_g[n] = left_g;
            sum_h[n] = left_h;
            n++;
        }
        const u32 padded = (n + 15) / 16 * 16;
        for (u32 k = n; k < padded; k++) own_h[k] = sum_g[k] = sum_h[k] = 0;
        for (u32 direction = 0; direction < (feature->missing_h > 0 ? 2u : 1u); direction++) {
            const i64 more_g = direction ? feature->missing_g : 0;
            const i64 more_h = direction ? feature->missing_h : 0;
            for (u32 k = 0; k < padded; k += 16)
                score_16(own_h + k, sum_g + k, sum_h + k, more_g, more_h, feature, bits + k, &search);
            for (u32 k = 0; k < padded; k++) {
                look_closer(bits[k], sum_g[k] + more_g, sum_h[k] + more_h,
                            2 * (start + k) + direction, feature, &search);
            }
        }
    }
    if (search.waiting >= 0.0f) {
        consider(&search.best, search.waiting_g, search.waiting_h, search.waiting_at,
                 feature->node_g, feature->node_h, feature->rule);
    }
    return search.best;
}


KERNEL(1) find(
        const u32 depth, const u32 first_feature, const u32 n_features, const u32 n_codes,
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
    const u32 id = first_feature + GROUP_ID;
    const u32 first = levels[depth].first, count = levels[depth].count;
    const u32 offset = feature_offset[id], n_bins = feature_bins[id], full = fullest[id];
    const u32 n_own = feature_offset[id + 1] - offset; /* codes: bins, and perhaps missing */
    for (u32 index = GROUP_ID_Y; index < count; index += N_GROUPS_Y) {
        GLOBAL const node_t* node = &nodes[first + index];
        GLOBAL const scale_t* own_scale = scale + node->tree;
        feature_t feature;
        feature.node_g = node->sum_g;
        feature.node_h = node->sum_h;
        feature.least = least_hessian(min_child_weight, own_scale);
        feature.rule = make_rule(own_scale, reg_lambda, reg_alpha, max_delta_step);
        GLOBAL i64* cells = pool + 2 * ((u64)node->slot * n_codes + offset);
        GLOBAL candidate_t* out = &candidates[(u64)index * n_features + id];
        if (node->sibling_slot >= 0) {
            GLOBAL const i64* sibling = pool + 2 * ((u64)node->sibling_slot * n_codes + offset);
            for (u32 k = 0; k < 2 * n_own; k++) cells[k] -= sibling[k];
        }
        sum_apart(cells, n_own, n_bins, full, &feature);
        const best_t best = search_borders(cells, n_bins, full, &feature);
        write_candidate(out, id, best);
    }
}
