
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
                 const i64 node_g, const i64 node_h, const rule_t rule, const u32 constraint) {
    const i64 right_g = node_g - g, right_h = node_h - h;
    const df s = df_add(score(g, h, rule), score(right_g, right_h, rule));
    if (ahead(s, at, best->score, best->at) && keeps_order(constraint, g, h, right_g, right_h, rule)) {
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


FN u8 closed_in_parent(GLOBAL const node_t* node, GLOBAL const u8* closed, const u32 n_features) {
    return node->parent == NO_NODE ? 0 : closed[(u64)node->parent * n_features];
}



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

/* A feature of a node: what its borders are scored with. */
typedef struct {
    i64 full_g, full_h;       /* of the fullest code */
    i64 missing_g, missing_h;
    i64 node_g, node_h;
    i64 least;                /* Hessian of a child */
    rule_t rule;
    u32 constraint;
    f32 lower, upper;         /* bounds of weights */
} feature_t;

/* The best split so far, and what keeps others from an exact score. */
typedef struct {
    best_t best;
    i32 top;                  /* what the best score reaches, whatever its error */
} search_t;

FN search_t no_search(void) {
    search_t search;
    search.best = no_split();
    search.top = NEVER;
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
    const f32 lower = feature->lower, upper = feature->upper;
    i32 sure[16];
    for (u32 k = 0; k < 16; k++) {
        const i64 g = sum_g[k] + more_g, h = sum_h[k] + more_h;
        /* A bin without rows has the same rows behind it as the bin before. */
        const int allowed = (own_h[k] != 0) & may_split(h, node_h - h, least);
        const side_t l = rough(g, h, rule, lower, upper);
        const side_t r = rough(node_g - g, node_h - h, rule, lower, upper);
        const f32 s = l.score + r.score, error = l.score_error + r.score_error;
        const i32 highest = (i32)as_u32(s + error), lowest = (i32)as_u32(s - error);
        const u32 constraint = feature->constraint;
        const f32 rises = r.weight - l.weight;
        const f32 ordered = constraint == 2 ? -rises : rises;
        const f32 doubt = l.weight_error + r.weight_error;
        const int differ = (l.bound == 0) | (l.bound != r.bound);
        const int may = allowed & differ & ((constraint == 0) | (ordered >= -doubt));
        const f32 apart = constraint == 0 && rises < 0.0f ? -rises : ordered;
        const int does = allowed & (apart > doubt);
        bits[k] = may ? SORTABLE(highest) : NEVER;
        sure[k] = does ? SORTABLE(lowest) : NEVER;
    }
    for (u32 k = 0; k < 16; k++) most = sure[k] > most ? sure[k] : most;
    search->top = most > search->top ? most : search->top;
}

/* Give a border with these rough bits its exact score, unless that cannot be the best. */
FN void look_closer(const i32 bits, const i64 g, const i64 h, const u32 at,
                    const feature_t* feature, search_t* search) {
    if (bits == NEVER) return;
    if (bits < search->top) return;
    consider(&search->best, g, h, at, feature->node_g, feature->node_h, feature->rule, feature->constraint);
}

/* Find the best split of a node's feature. */
FN best_t search_borders(GLOBAL const i64* cells, const u32 n_bins, const u32 full,
                         const feature_t* feature) {
    i64 own_h[RUN], sum_g[RUN], sum_h[RUN]; /* of a bin, and up to the border behind it */
    i32 bits[RUN];                          /* rough scores */
    u32 bins[RUN];
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
            bins[n] = bin;
            n += own_h[n] != 0 ? 1 : 0;
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
                            2 * bins[k] + direction, feature, &search);
            }
        }
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
        GLOBAL i64* pool, GLOBAL u8* closed,
        GLOBAL candidate_t* RESTRICT candidates) {
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
        feature.constraint = constraints[id];
        feature.rule = within(feature.rule, node->lower, node->upper);
        const rule_t rule = feature.rule;
        const f32 largest = rule.max_delta > 0.0f ? rule.max_delta : UNBOUNDED;
        feature.lower = rule.lower > -largest ? (rule.lower < largest ? rule.lower : largest) : -largest;
        feature.upper = rule.upper < largest ? (rule.upper > -largest ? rule.upper : -largest) : largest;
        GLOBAL i64* cells = pool + 2 * ((u64)node->slot * n_codes + offset);
        GLOBAL candidate_t* out = &candidates[(u64)index * n_features + id];
        GLOBAL u8* mark = closed + (u64)(first + index) * n_features + id;
        *mark = closed_in_parent(node, closed + id, n_features);
        if (*mark) {
            write_candidate(out, id, no_split());
            continue;
        }
        if (node->sibling_slot >= 0) {
            GLOBAL const i64* sibling = pool + 2 * ((u64)node->sibling_slot * n_codes + offset);
            for (u32 k = 0; k < 2 * n_own; k++) cells[k] -= sibling[k];
        }
        sum_apart(cells, n_own, n_bins, full, &feature);
        if (!may_have_borders(feature.node_h - feature.missing_h, feature.node_h, feature.least)) {
            *mark = 1;
            write_candidate(out, id, no_split());
            continue;
        }
        const u32 n_words = (n_features + 31) / 32;
        const u32 searched = (allowed[(u64)index * n_words + id / 32] >> id % 32) & 1;
        const best_t best = search_borders(cells, searched ? n_bins : 0, full, &feature);
        write_candidate(out, id, best);
    }
}
