
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

FN void read_node(parent_t* parent, const i64x2 sums) {
    parent->g = sums.x;
    parent->h = sums.y;
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
                 const parent_t* node) {
    const rule_t rule = node->rule;
    const i64 right_g = node->g - g, right_h = node->h - h;
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


/* A sum as a double, from its halves, for which every CPU has vectors: that of whole numbers it has not. */
FN f64 sum_in_f64(const i64 x) {
    const f64 high = as_f64((u64)x >> 32 ^ 0x4530000080000000ul); /* 2^84 + 2^63 + 2^32 * the upper half */
    const f64 low = as_f64((u64)x & 0xffffffffu | 0x4330000000000000ul); /* 2^52 + the lower half */
    return high - as_f64(0x4530000080100000ul) + low;
}

/* Both children's scores in units, from sums in quanta; `lambda` in quanta. */
FN f32 rough_pair(const i64 g, const i64 h, const i64 other_g, const i64 other_h, const f64 lambda) {
    const f64 t = sum_in_f64(g), d = sum_in_f64(h) + lambda;
    const f64 other_t = sum_in_f64(other_g), other_d = sum_in_f64(other_h) + lambda;
    return (f32)((t * t * other_d + other_t * other_t * d) / (d * other_d) * 5.9604644775390625e-8f);
}

/* What a border scores at most in units, if its left side has a sum of gradients, at least a sum of Hessians, and the
   right side at least another one; a bit more, as a score is rounded. */
FN f64 most_of_pair(const f64 t, const f64 other_t, const f64 d, const f64 other_d) {
    return (t * t * other_d + other_t * other_t * d) / (d * other_d) * 5.9604652e-8f;
}


#define NEVER (-1) /* the bits of no score, and less than any score's */

/* Rough scores of 16 borders as integers that order alike; returns the highest. A border of
   which `own_h[k] != 0` does not hold has the same rows on either side as the one before. */
FN i32 score_16(const i64* own_h, const i64* sum_g, const i64* sum_h, const i64 more_g,
                const i64 more_h, const parent_t* node, i32* bits) {
    const i64 node_g = node->g, node_h = node->h;
    const least_t least = node->least;
    const f64 lambda = (f64)node->rule.lambda * 16777216.0f;
    i32 most = NEVER;
    for (u32 k = 0; k < 16; k++) {
        const i64 g = sum_g[k] + more_g, h = sum_h[k] + more_h;
        const int allowed = (own_h[k] != 0) & may_split(g, h, node_g - g, node_h - h, least);
        const f32 s = rough_pair(g, h, node_g - g, node_h - h, lambda);
        const i32 own = allowed ? (i32)as_u32(s) : NEVER;
        bits[k] = own;
        most = own > most ? own : most;
    }
    return most;
}

/* Hessians of a run's bins, and sums up to the border behind each of them. */
typedef struct {
    i64 own_h[RUN], g[RUN], h[RUN];
} sums_t;

/* The best split so far, and what keeps others from an exact score. */
typedef struct {
    best_t best;
    f32 top;                  /* the best rough score */
    f64 waiting;              /* a rough score that waits for its exact one */
    i64 waiting_g, waiting_h;
    u32 waiting_at;
} search_t;

FN search_t begin_search(void) {
    search_t search;
    search.best = no_split();
    search.top = 0.0f;
    search.waiting = -1.0f;
    search.waiting_g = search.waiting_h = 0;
    search.waiting_at = NO_KEY;
    return search;
}

/* Give a border with these rough bits its exact score, unless that cannot be the best. */
FN void look_closer(const i32 bits, const i64 g, const i64 h, const u32 at, const parent_t* node,
                    search_t* search) {
    if (bits == NEVER) return;
    if (as_f32((u32)bits) * MORE < search->top) return;
    const f64 near = score_in_f64(g, h, node->rule) + score_in_f64(node->g - g, node->h - h, node->rule);
    if (near * MORE_F64 < search->waiting) return; /* what waits is better */
    if (near > search->waiting * MORE_F64) {
        search->waiting = near;
        search->waiting_g = g;
        search->waiting_h = h;
        search->waiting_at = at;
        return;
    }
    consider(&search->best, g, h, at, node);
}

/* What each 16 borders score at most. A score is convex in the sums of the left side, so it is most where these are
   least or most: gradients are looked through, and Hessians grow from border to border. Not a number if unknown. */
FN void bound_runs(const sums_t* sums, const u32 n, const i64 more_g, const i64 more_h, const parent_t* node, f32* bounds) {
    const f64 lambda = (f64)node->rule.lambda * 16777216.0f;
    i64 least[RUN / 16], most[RUN / 16], first[RUN / 16], last[RUN / 16];
    for (u32 at = 0; at < n; at += 16) {
        const i64* g = sums->g + at;
        i64 low[4], high[4];
        for (u32 k = 0; k < 4; k++) low[k] = high[k] = g[k];
        for (u32 j = 4; j < 16; j += 4)
            for (u32 k = 0; k < 4; k++) {
                low[k] = g[j + k] < low[k] ? g[j + k] : low[k];
                high[k] = g[j + k] > high[k] ? g[j + k] : high[k];
            }
        for (u32 k = 1; k < 4; k++) {
            low[0] = low[k] < low[0] ? low[k] : low[0];
            high[0] = high[k] > high[0] ? high[k] : high[0];
        }
        least[at / 16] = low[0] + more_g;
        most[at / 16] = high[0] + more_g;
        first[at / 16] = sums->h[at] + more_h;
        last[at / 16] = node->h - (sums->h[at + 15] + more_h);
    }
    for (u32 i = 0; i < (n + 15) / 16; i++) {
        const f64 d = sum_in_f64(first[i]) + lambda, other_d = sum_in_f64(last[i]) + lambda;
        const f64 one = most_of_pair(sum_in_f64(least[i]), sum_in_f64(node->g - least[i]), d, other_d);
        const f64 two = most_of_pair(sum_in_f64(most[i]), sum_in_f64(node->g - most[i]), d, other_d);
        bounds[i] = (f32)(one > two ? one : two);
    }
}

/* Search the borders of a run of n bins, with the missing rows on the right and, if there are any, on the left;
   the first border's key is `key`. */
FN void search_run(sums_t* sums, const u32 n, const i64 missing_g, const i64 missing_h, const u32 key,
                   const parent_t* node, search_t* search) {
    i32 bits[RUN], most[RUN / 16];
    f32 bounds[RUN / 16];
    for (u32 k = n; k % 16; k++) { /* no borders */
        sums->own_h[k] = 0;
        sums->g[k] = sums->g[n - 1];
        sums->h[k] = sums->h[n - 1];
    }
    for (u32 direction = 0; direction < (missing_h > 0 ? 2u : 1u); direction++) {
        const i64 more_g = direction ? missing_g : 0, more_h = direction ? missing_h : 0;
        bound_runs(sums, n, more_g, more_h, node, bounds);
        for (u32 at = 0; at < n; at += 16) {
            most[at / 16] = NEVER;
            if (bounds[at / 16] * MORE < search->top) continue; /* none of them can be the best */
            const i32 own = score_16(sums->own_h + at, sums->g + at, sums->h + at, more_g, more_h, node, bits + at);
            most[at / 16] = own;
            if (own != NEVER && as_f32((u32)own) > search->top) search->top = as_f32((u32)own);
        }
        for (u32 at = 0; at < n; at += 16) {
            if (most[at / 16] == NEVER || as_f32((u32)most[at / 16]) * MORE < search->top) continue;
            for (u32 k = at; k < at + 16; k++)
                look_closer(bits[k], sums->g[k] + more_g, sums->h[k] + more_h, key + 2 * k + direction, node, search);
        }
    }
    (void)key; (void)most;
}

FN best_t end_search(search_t* search, const parent_t* node) {
    if (search->waiting >= 0.0f)
        consider(&search->best, search->waiting_g, search->waiting_h, search->waiting_at, node);
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
                         const parent_t* node) {
    sums_t sums;
    search_t search = begin_search();
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
            n++;
        }
        search_run(&sums, n, feature->missing_g, feature->missing_h, 2 * start, node, &search);
    }
    return end_search(&search, node);
}

KERNEL(1) find(
        const u32 depth, const u32 first_feature, const u32 n_features, const u32 n_codes,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step,
        const f32 min_child_weight, GLOBAL const u32* RESTRICT constraints,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const i64x2* RESTRICT node_sums, GLOBAL const bounds_t* RESTRICT node_bounds,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const u32* RESTRICT fullest,
        GLOBAL i64* pool,
        GLOBAL candidate_t* RESTRICT candidates) {
    (void)constraints; (void)node_bounds;
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
        read_node(&parent, node_sums[first + index]);
        GLOBAL i64* cells = pool + 2 * ((u64)node->slot * n_codes + offset);
        GLOBAL candidate_t* out = &candidates[(u64)index * n_features + place];
        if (node->sibling_slot >= 0) {
            GLOBAL const i64* sibling = pool + 2 * ((u64)node->sibling_slot * n_codes + offset);
            for (u32 k = 0; k < 2 * n_own; k++) cells[k] -= sibling[k];
        }
        const feature_t feature = sum_apart(cells, n_own, n_bins, full, &parent);
        const best_t best = search_borders(cells, n_bins, full, &feature, &parent);
        write_candidate(out, id, best);
    }
}
