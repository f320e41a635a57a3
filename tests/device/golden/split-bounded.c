











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


/* The sums of a bin, as sum_g and sum_h, in one access of 16 bytes. */
#define FETCH(cells, bin)     const i64x2 sum = ((GLOBAL const i64x2*)(cells))[bin];     const i64 sum_g = sum.x, sum_h = sum.y;
#define KEEP(cells, bin, g, h) ((GLOBAL i64x2*)(cells))[bin] = MAKE_I64X2(g, h);
/* Bins whose sums are fetched together: one after the other, each would wait for memory. */
#define AT_ONCE 4

/* A work-item's run of a feature's bins. */
typedef struct {
    u32 begin, end, full;      /* bins of the run; the feature's fullest code */
    i64 left_g, left_h;        /* sums of the bins before the run */
    i64 full_g, full_h;
    i64 missing_g, missing_h;
} run_t;

FN run_t run_of(const u32 n_bins, const u32 full) {
    const u32 size = (n_bins + 63) / 64;
    run_t run;
    run.begin = LOCAL_ID * size < n_bins ? LOCAL_ID * size : n_bins;
    run.end = run.begin + size < n_bins ? run.begin + size : n_bins;
    run.full = full;
    return run;
}

/* Subtract the sibling's histogram from the run, if asked to, and add up its bins but the fullest. */
FN void sum_run(GLOBAL i64* cells, GLOBAL const i64* sibling, const int subtract, run_t* run) {
    run->left_g = run->left_h = 0;
    for (u32 base = run->begin; base < run->end; base += AT_ONCE) {
        i64 g[AT_ONCE], h[AT_ONCE];
        for (u32 k = 0; k < AT_ONCE; k++) {
            const u32 bin = base + k < run->end ? base + k : base;
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
            if (bin >= run->end) break;
            if (subtract) KEEP(cells, bin, g[k], h[k])
            if (bin != run->full) {
                run->left_g += g[k];
                run->left_h += h[k];
            }
        }
    }
}

/* The sums of the missing rows, whose code is behind the bins; one work-item of the group does it. */
FN void sum_missing(GLOBAL i64* cells, GLOBAL const i64* sibling, const int subtract,
                    const int has_missing, LOCAL i64* missing) {
    i64 g = 0, h = 0;
    if (has_missing) {
        g = cells[0] - (subtract ? sibling[0] : 0);
        h = cells[1] - (subtract ? sibling[1] : 0);
        if (subtract) { /* else the sibling's group may be reading them */
            cells[0] = g;
            cells[1] = h;
        }
    }
    missing[0] = g;
    missing[1] = h;
}

/* Give the fullest code what the others leave of the node; `full` held the sums of all bins. */
FN void sum_fullest(run_t* run, const parent_t* node, const u32 n_bins, LOCAL const i64* missing) {
    run->missing_g = missing[0];
    run->missing_h = missing[1];
    run->full_g = node->g - run->full_g;
    run->full_h = node->h - run->full_h;
    if (run->full == n_bins) {
        run->missing_g = run->full_g;
        run->missing_h = run->full_h;
        return;
    }
    run->full_g -= run->missing_g;
    run->full_h -= run->missing_h;
    if (run->begin > run->full) {
        run->left_g += run->full_g;
        run->left_h += run->full_h;
    }
}




/* The highest rough score of a work-item's borders; -1 if there is none. */
FN f32 best_rough(GLOBAL const i64* cells, const run_t run, const parent_t* node, const u32 end) {
    f32 most = -1.0f;

    i64 left_g = run.left_g, left_h = run.left_h;
    for (u32 bin = run.begin; bin < end; bin++) {
        FETCH(cells, bin)
        const i64 bin_h = bin == run.full ? run.full_h : sum_h;
        left_g += bin == run.full ? run.full_g : sum_g;
        left_h += bin_h;
        if (bin_h == 0) continue; /* the same rows as behind the bin before */
        for (u32 direction = 0; direction < (run.missing_h > 0 ? 2u : 1u); direction++) {
            const i64 g = left_g + (direction ? run.missing_g : 0);
            const i64 h = left_h + (direction ? run.missing_h : 0);
            if (may_split(g, h, node->g - g, node->h - h, node->least)) {
                
                const f32 rough = rough_scores(g, h, node->g - g, node->h - h, node->rule);
                most = rough > most ? rough : most;

            }
        }
    }

    return most;
}


/* The best of a work-item's borders whose rough score is at least `least_score`. */
FN best_t best_exact(GLOBAL const i64* cells, const run_t run, const parent_t* node, const u32 end, const u32 constraint, const int exact_only, const f32 least_score) {
    best_t best = no_split();

    i64 left_g = run.left_g, left_h = run.left_h;
    for (u32 bin = run.begin; bin < end; bin++) {
        FETCH(cells, bin)
        const i64 bin_h = bin == run.full ? run.full_h : sum_h;
        left_g += bin == run.full ? run.full_g : sum_g;
        left_h += bin_h;
        if (bin_h == 0) continue; /* the same rows as behind the bin before */
        for (u32 direction = 0; direction < (run.missing_h > 0 ? 2u : 1u); direction++) {
            const i64 g = left_g + (direction ? run.missing_g : 0);
            const i64 h = left_h + (direction ? run.missing_h : 0);
            if (may_split(g, h, node->g - g, node->h - h, node->least)) {
                
                const f32 rough = exact_only ? 0.0f : rough_scores(g, h, node->g - g, node->h - h, node->rule);
                if (exact_only || (rough >= least_score && rough * MORE >= best.score.hi))
                    consider(&best, g, h, 2 * bin + direction, node, constraint);

            }
        }
    }

    return best;
}


/* The least rough score that the node's best split may have. */
FN f32 least_rough(const f32 own, const f32 known, GLOBAL node_t* node) {
    (void)node;
    return (own > known ? own : known) * LESS;
}

/* Find the best border of a feature in a node. */
FN void search(GLOBAL const i64* cells, const run_t run, const parent_t* parent, const u32 end,
               const u32 constraint, const f32 known,
               GLOBAL node_t* node, const u32 feature, GLOBAL candidate_t* out,
               LOCAL f32* best_hi, LOCAL f32* best_lo, LOCAL u32* best_key) {
    const int exact_only = 1;
    const f32 most = best_rough(cells, run, parent, exact_only ? run.begin : end);
    const f32 own = group_max(most, best_hi);
    const f32 least_score = exact_only ? -1.0f : least_rough(own, known, node); /* below it none is the best */
    best_t best = best_exact(
        cells, run, parent, most < least_score ? run.begin : end, constraint, exact_only, least_score);
    const u32 mine = best.at;
    group_best(&best.score, &best.at, best_hi, best_lo, best_key);
    if (best.at == NO_KEY ? LOCAL_ID == 0 : mine == best.at) write_candidate(out, feature, best);
}

FN int is_allowed(GLOBAL const u32* allowed, const u32 index, const u32 feature, const u32 n_features) {
    return (allowed[(u64)index * ((n_features + 31) / 32) + feature / 32] >> feature % 32) & 1;
}

KERNEL(64) find(
        const u32 depth, const u32 first_feature, const u32 n_features, const u32 n_codes,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step,
        const f32 min_child_weight, GLOBAL const u32* RESTRICT constraints,
        GLOBAL const u32* RESTRICT allowed, GLOBAL const level_t* RESTRICT levels, GLOBAL node_t* nodes,
        GLOBAL const i64x2* RESTRICT node_sums, GLOBAL const bounds_t* RESTRICT node_bounds,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const u32* RESTRICT fullest,
        GLOBAL i64* pool,
        GLOBAL candidate_t* RESTRICT candidates) {
    LOCAL_ARRAY(i64, shared, 128);
    LOCAL_ARRAY(i64, missing, 2);
    
    LOCAL_ARRAY(f32, best_hi, 64);
    LOCAL_ARRAY(f32, best_lo, 64);
    LOCAL_ARRAY(u32, best_key, 64);
    const u32 feature = first_feature + GROUP_ID;
    const u32 first = levels[depth].first, count = levels[depth].count;
    const u32 offset = feature_offset[feature], n_bins = feature_bins[feature];
    const int has_missing = feature_offset[feature + 1] - offset > n_bins;
    run_t run = run_of(n_bins, fullest[feature]);
    parent_t parent;
    const u32 each = (count + N_GROUPS_Y - 1) / N_GROUPS_Y, begin = GROUP_ID_Y * each;
    const u32 n_own = begin < count ? (begin + each < count ? each : count - begin) : 0;
    /* a compiler may divide in groups without nodes, too, and take the divisor's not being 0 for granted */
    u32 tree = NO_NODE, index = begin + feature % (n_own ? n_own : 1);
    for (u32 k = 0; k < n_own; k++, index = index + 1 < begin + n_own ? index + 1 : begin) {
        GLOBAL node_t* node = &nodes[first + index];
        if (node->tree != tree) { /* a group's nodes have few trees */
            tree = node->tree;
            read_tree(&parent, scale + tree, reg_lambda, reg_alpha, max_delta_step, min_child_weight);
        }
        read_node(&parent, node_sums[first + index], node_bounds[first + index]);
        const int subtract = node->sibling_slot >= 0;
        GLOBAL candidate_t* out = &candidates[(u64)index * n_features + feature];
        GLOBAL i64* cells = pool + 2 * ((u64)node->slot * n_codes + offset);
        GLOBAL const i64* sibling = subtract
            ? pool + 2 * ((u64)node->sibling_slot * n_codes + offset) : cells;

        sum_run(cells, sibling, subtract, &run);
        if (LOCAL_ID == 0) {
            sum_missing(cells + 2 * n_bins, sibling + 2 * n_bins, subtract, has_missing, missing);
            
        }
        BARRIER();
        group_scan(run.left_g, run.left_h, shared, &run.left_g, &run.full_g, &run.left_h, &run.full_h);
        sum_fullest(&run, &parent, n_bins, missing);

        const u32 end = is_allowed(allowed, index, feature, n_features) ? run.end : run.begin;
        search(cells, run, &parent, end, constraints[feature], 0.0f, node, feature, out, best_hi, best_lo, best_key);
    }
}
