
#undef BARRIER
#define BARRIER() ((void)0)











#define NO_KEY 0xFFFFFFFFu
#define MORE 1.000030517578125f /* 1 + 2^-15: if rough scores differ by more, exact ones have the same order */
#define LESS 0.999969482421875f /* 1 - 2^-15 */

/* A node that may split, and what its borders are scored with. */
typedef struct {
    i64 g, h;   /* sums of its rows */
    least_t least; /* of a child */
    rule_t rule;
} parent_t;

/* Set what the nodes of a tree have in common. */
FN void read_tree(parent_t* parent, GLOBAL const scale_t* scale, const f32 reg_lambda, const f32 reg_alpha,
                  const f32 max_delta_step, const f32 min_child_weight) {
    parent->least = least_child(min_child_weight, scale);
    parent->rule = make_rule(scale, reg_lambda, reg_alpha, max_delta_step);
}

FN void read_node(parent_t* parent, const i64x2 sums, const bounds_t bounds) {
    parent->g = sums.x;
    parent->h = sums.y;
    parent->rule = within(parent->rule, bounds);
}

/* Whether rough scores tell nothing of a tree: terms cancel, or their products might overflow. */
FN int is_exact_only(const parent_t* parent) {
    return parent->rule.alpha != 0.0f || parent->rule.lambda > LARGE_LAMBDA;
}

/* The best split so far: its score, its key, and the sums of its left child. */
typedef struct { df score; u32 at; i64 g; i64 h; } best_t;

FN best_t no_split(void) {
    best_t best;
    best.score = df_make(NO_SCORE, 0.0f);
    best.at = NO_KEY;
    best.g = best.h = 0;
    return best;
}

/* Compare a split with the best so far, by its exact score; (g, h) are the sums of its left child. */
FN void consider(best_t* best, const i64 g, const i64 h, const u32 at,
                 const parent_t* node, const u32 constraint) {
    const rule_t rule = node->rule;
    const i64 right_g = node->g - g, right_h = node->h - h;
    if (!keeps_order(constraint, g, h, right_g, right_h, rule)) return;
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


FN u8 closed_in_parent(GLOBAL const node_t* node, GLOBAL const u8* closed, const u32 n_features) {
    return node->parent == NO_NODE ? 0 : closed[(u64)node->parent * n_features];
}



#define RUN 256


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

/* The bounds of a node's weights, from constraints and max_delta_step. */
FN void bounds_of(const rule_t rule, f32* lower, f32* upper) {
    const f32 largest = rule.max_delta > 0.0f ? rule.max_delta : UNBOUNDED;
    *lower = rule.lower > -largest ? (rule.lower < largest ? rule.lower : largest) : -largest;
    *upper = rule.upper < largest ? (rule.upper > -largest ? rule.upper : -largest) : largest;
}

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


#define NEVER (-2147483647 - 1) /* the bits of no score, and less than any score's */

/* Rough scores of 16 borders as integers that order alike; returns the highest that is sure. A border of
   which `own_h[k] != 0` does not hold has the same rows on either side as the one before. */
FN i32 score_16(const i64* own_h, const i64* sum_g, const i64* sum_h, const i64 more_g,
                const i64 more_h, const parent_t* node, const f32 lower, const f32 upper, const u32 constraint, i32* bits) {
    const i64 node_g = node->g, node_h = node->h;
    const least_t least = node->least;
    const rule_t rule = node->rule;
    i32 most = NEVER;
    i32 sure[16];
    for (u32 k = 0; k < 16; k++) {
        const i64 g = sum_g[k] + more_g, h = sum_h[k] + more_h;
        const int allowed = (own_h[k] != 0) & may_split(g, h, node_g - g, node_h - h, least);
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
        sure[k] = does ? SORTABLE(lowest) : NEVER;
    }
    for (u32 k = 0; k < 16; k++) most = sure[k] > most ? sure[k] : most;
    return most;
}

/* Hessians of a run's bins, and sums up to the border behind each of them. */
typedef struct {
    i64 own_h[RUN], g[RUN], h[RUN];
    u32 bin[RUN];
} sums_t;

/* The best split so far, and what keeps others from an exact score. */
typedef struct {
    best_t best;
    i32 top;                  /* what the best score reaches, whatever its error */
    f32 lower, upper;         /* bounds of the node's weights */
    u32 constraint;
} search_t;

FN search_t begin_search(const rule_t rule, const u32 constraint) {
    search_t search;
    search.best = no_split();
    search.top = NEVER;
    search.constraint = constraint;
    bounds_of(rule, &search.lower, &search.upper);
    return search;
}

/* Give a border with these rough bits its exact score, unless that cannot be the best. */
FN void look_closer(const i32 bits, const i64 g, const i64 h, const u32 at, const parent_t* node,
                    search_t* search) {
    if (bits == NEVER) return;
    if (bits < search->top) return;
    consider(&search->best, g, h, at, node, search->constraint);
}

/* Search the borders of a run of n bins, with the missing rows on the right and, if there are any, on the left;
   the first border's key is `key`. */
FN void search_run(sums_t* sums, const u32 n, const i64 missing_g, const i64 missing_h, const u32 key,
                   const parent_t* node, search_t* search) {
    i32 bits[RUN], most[RUN / 16];
    for (u32 k = n; k % 16; k++) { /* no borders */
        sums->own_h[k] = 0;
        sums->g[k] = sums->g[n - 1];
        sums->h[k] = sums->h[n - 1];
    }
    for (u32 direction = 0; direction < (missing_h > 0 ? 2u : 1u); direction++) {
        const i64 more_g = direction ? missing_g : 0, more_h = direction ? missing_h : 0;
        for (u32 at = 0; at < n; at += 16) {
            const i32 own = score_16(sums->own_h + at, sums->g + at, sums->h + at, more_g, more_h, node, search->lower, search->upper, search->constraint, bits + at);
            most[at / 16] = own;
            search->top = own > search->top ? own : search->top;
        }
        for (u32 at = 0; at < n; at += 16) {
            for (u32 k = at; k < at + 16; k++)
                look_closer(bits[k], sums->g[k] + more_g, sums->h[k] + more_h, 2 * sums->bin[k] + direction, node, search);
        }
    }
    (void)key; (void)most;
}

FN best_t end_search(search_t* search, const parent_t* node) {
    (void)node;
    return search->best;
}


/* A feature of a node: sums of its fullest code, which may be missing from the histogram, and of missing values. */
typedef struct { i64 full_g, full_h, missing_g, missing_h; } feature_t;

FN feature_t sum_apart(GLOBAL const i64* cells, const u32 n_codes, const u32 n_bins, const u32 full,
                       const parent_t* node) {
    i64 all_g = 0, all_h = 0; /* added: Intel's runtime 2025.2 subtracts such a row wrongly */
    for (u32 code = 0; code < n_codes; code++) {
        all_g += cells[2 * code];
        all_h += cells[2 * code + 1];
    }
    feature_t feature;
    feature.full_g = node->g - (all_g - cells[2 * full]);
    feature.full_h = node->h - (all_h - cells[2 * full + 1]);
    feature.missing_g = feature.missing_h = 0;
    if (full == n_bins) {
        feature.missing_g = feature.full_g;
        feature.missing_h = feature.full_h;
    } else if (n_codes > n_bins) {
        feature.missing_g = cells[2 * n_bins];
        feature.missing_h = cells[2 * n_bins + 1];
    }
    return feature;
}

/* Find the best split of a node's feature. */
FN best_t search_borders(GLOBAL const i64* cells, const u32 n_bins, const u32 full, const feature_t* feature,
                         const parent_t* node, const u32 constraint) {
    sums_t sums;
    search_t search = begin_search(node->rule, constraint);
    i64 left_g = 0, left_h = 0;
    for (u32 start = 0; start < n_bins; start += RUN) {
        const u32 behind = n_bins - start < RUN ? n_bins : start + RUN;
        u32 n = 0;
        for (u32 bin = start; bin < behind; bin++) {
            sums.own_h[n] = bin == full ? feature->full_h : cells[2 * bin + 1];
            left_g += bin == full ? feature->full_g : cells[2 * bin];
            left_h += sums.own_h[n];
            sums.g[n] = left_g;
            sums.h[n] = left_h;
            sums.bin[n] = bin;
            n += sums.own_h[n] != 0 ? 1 : 0;
        }
        search_run(&sums, n, feature->missing_g, feature->missing_h, 2 * start, node, &search);
    }
    return end_search(&search, node);
}

KERNEL(1) find(
        const u32 depth, const u32 first_feature, const u32 n_features, const u32 n_codes,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step,
        const f32 min_child_weight, GLOBAL const u32* RESTRICT constraints,
        GLOBAL const u32* RESTRICT allowed, GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const i64x2* RESTRICT node_sums, GLOBAL const bounds_t* RESTRICT node_bounds,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const u32* RESTRICT fullest,
        GLOBAL i64* pool, GLOBAL u8* closed,
        GLOBAL candidate_t* RESTRICT candidates) {
    const u32 place = first_feature + GROUP_ID;
    const u32 first = levels[depth].first, count = levels[depth].count;
    for (u32 index = GROUP_ID_Y; index < count; index += N_GROUPS_Y) {
        GLOBAL const node_t* node = &nodes[first + index];
        const u32 id = place;
        const u32 n_bins = feature_bins[id], full = fullest[id];
        const u32 offset = feature_offset[id];
        const u32 n_own = feature_offset[id + 1] - feature_offset[id]; /* codes: bins, and perhaps missing */
        GLOBAL const scale_t* own_scale = scale + node->tree;
        parent_t parent;
        read_tree(&parent, own_scale, reg_lambda, reg_alpha, max_delta_step, min_child_weight);
        read_node(&parent, node_sums[first + index], node_bounds[first + index]);
        GLOBAL i64* cells = pool + 2 * ((u64)node->slot * n_codes + offset);
        GLOBAL candidate_t* out = &candidates[(u64)index * n_features + place];
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
        const feature_t feature = sum_apart(cells, n_own, n_bins, full, &parent);
        if (!may_have_borders(parent.h - feature.missing_h, parent.h, parent.least.h)) {
            *mark = 1;
            write_candidate(out, id, no_split());
            continue;
        }
        const u32 n_words = (n_features + 31) / 32;
        const u32 searched = (allowed[(u64)index * n_words + id / 32] >> id % 32) & 1;
        const best_t best = search_borders(cells, searched ? n_bins : 0, full, &feature, &parent, constraints[id]);
        write_candidate(out, id, best);
    }
}
