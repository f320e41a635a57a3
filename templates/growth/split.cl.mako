## split: the best split of every node of a level, from its histogram
## uses: portable_math structs gain
##
##   find   one work-group a (feature, node): each work-item takes a run of neighbouring bins, the
##          group scans over the runs, then every bin border is scored with the missing rows on
##          the right and, where there are any, on the left
##
##   bins      | 0 1 | 2 3 | 4 5 | missing      a border behind bin b sends bins 0..b to the left
##   items     |  i0 |  i1 |  i2 |
##
##   A feature's fullest code may be missing from the histogram: it is what the others leave of the
##   node's total.
##   A node whose sibling was built from rows gets  histogram = parent - sibling  first, in place.
##   Order of splits: score, then lowest feature, then lowest bin, then missing to the right.
##
## params: wg_size (at least 2; `split_cpu` is for one); monotone, features have constraints;
##         masked, nodes have features of their own; categories, some features are left to `category_split`
<%page args="wg_size, monotone, masked, categories"/>
<%namespace name="candidates" file="candidates.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
${group.exclusive_scans("group_scan", "i64", wg_size, 2)}
${group.largest("group_max", "f32", wg_size)}

${candidates.group_best(wg_size)}
${candidates.consider(monotone)}
/* The sums of a bin, as sum_g and sum_h, in one access of 16 bytes. */
#define FETCH(cells, bin) \
    const i64x2 sum = ((GLOBAL const i64x2*)(cells))[bin]; \
    const i64 sum_g = sum.x, sum_h = sum.y;
#define KEEP(cells, bin, g, h) ((GLOBAL i64x2*)(cells))[bin] = MAKE_I64X2(g, h);
/* Bins whose sums are fetched together: one after the other, each would wait for memory. */
#define AT_ONCE 4

/* A work-item's run of a feature's bins, and what the borders behind them are scored with. */
typedef struct {
    u32 begin, end, full;      /* bins of the run; the feature's fullest code */
    i64 left_g, left_h;        /* sums of the bins before the run */
    i64 full_g, full_h;
    i64 missing_g, missing_h;
    i64 node_g, node_h;
    i64 least;                 /* Hessian of a child */
    rule_t rule;
% if monotone:
    u32 constraint;
% endif
} run_t;

FN run_t run_of(const u32 n_bins, const u32 full) {
    const u32 size = (n_bins + ${wg_size - 1}) / ${wg_size};
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

/* Give the fullest code what the others leave of the node. Before, `full` holds the sums of all bins. */
FN void sum_fullest(run_t* run, const u32 n_bins, LOCAL const i64* missing) {
    run->missing_g = missing[0];
    run->missing_h = missing[1];
    run->full_g = run->node_g - run->full_g;
    run->full_h = run->node_h - run->full_h;
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

/* Whether both children of a split would have rows, and enough of them. */
FN int has_children(const run_t run, const i64 left_h) {
    const i64 right_h = run.node_h - left_h;
    return right_h > 0 && left_h >= run.least && right_h >= run.least;
}

FN f32 rough_split(const run_t run, const i64 g, const i64 h) {
    return rough_score(g, h, run.rule) + rough_score(run.node_g - g, run.node_h - h, run.rule);
}

/* The highest rough score of the run's borders; -1 if there is none. */
FN f32 best_rough(GLOBAL const i64* cells, const run_t run, const u32 end) {
    i64 left_g = run.left_g, left_h = run.left_h;
    f32 most = -1.0f;
    for (u32 bin = run.begin; bin < end; bin++) {
        FETCH(cells, bin)
        const i64 bin_h = bin == run.full ? run.full_h : sum_h;
        left_g += bin == run.full ? run.full_g : sum_g;
        left_h += bin_h;
        if (bin_h == 0) continue; /* as in best_exact */
        for (u32 direction = 0; direction < (run.missing_h > 0 ? 2u : 1u); direction++) {
            const i64 g = left_g + (direction ? run.missing_g : 0);
            const i64 h = left_h + (direction ? run.missing_h : 0);
            if (!has_children(run, h)) continue;
            const f32 rough = rough_split(run, g, h);
            most = rough > most ? rough : most;
        }
    }
    return most;
}

/* The best of the run's borders whose rough score is at least `least_score`. */
FN best_t best_exact(GLOBAL const i64* cells, const run_t run, const u32 end, const int exact_only,
                     const f32 least_score) {
    i64 left_g = run.left_g, left_h = run.left_h;
    best_t best = no_split();
    for (u32 bin = run.begin; bin < end; bin++) {
        FETCH(cells, bin)
        const i64 bin_h = bin == run.full ? run.full_h : sum_h;
        left_g += bin == run.full ? run.full_g : sum_g;
        left_h += bin_h;
        if (bin_h == 0) continue; /* the same rows as behind the bin before */
        for (u32 direction = 0; direction < (run.missing_h > 0 ? 2u : 1u); direction++) {
            const i64 g = left_g + (direction ? run.missing_g : 0);
            const i64 h = left_h + (direction ? run.missing_h : 0);
            if (!has_children(run, h)) continue;
            if (!exact_only) {
                const f32 rough = rough_split(run, g, h);
                if (rough < least_score || rough * MORE < best.score.hi) continue;
            }
            consider(&best, g, h, 2 * bin + direction, run.node_g, run.node_h,
                     run.rule${", run.constraint" if monotone else ""});
        }
    }
    return best;
}

KERNEL(${wg_size}) find(
        const u32 depth, const u32 n_features, const u32 n_codes,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step,
        const f32 min_child_weight, GLOBAL const u32* RESTRICT constraints,
        GLOBAL const u32* RESTRICT allowed,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const u32* RESTRICT fullest,
        GLOBAL i64* pool,${" GLOBAL const u32* RESTRICT feature_kinds," if categories else ""}
        GLOBAL candidate_t* RESTRICT candidates) {
    LOCAL_ARRAY(i64, shared, ${2 * wg_size});
    LOCAL_ARRAY(i64, missing, 2);
    LOCAL_ARRAY(f32, best_hi, ${wg_size});
    LOCAL_ARRAY(f32, best_lo, ${wg_size});
    LOCAL_ARRAY(u32, best_key, ${wg_size});
% if not monotone:
    (void)constraints;
% endif
% if not masked:
    (void)allowed;
% endif
    const u32 feature = GROUP_ID, first = levels[depth].first, count = levels[depth].count;
    const u32 offset = feature_offset[feature], n_bins = feature_bins[feature];
    const int has_missing = feature_offset[feature + 1] - offset > n_bins;
    run_t run = run_of(n_bins, fullest[feature]);
    for (u32 index = GROUP_ID_Y; index < count; index += N_GROUPS_Y) {
        GLOBAL const node_t* node = &nodes[first + index];
        GLOBAL const scale_t* own_scale = scale + node->tree;
        run.node_g = node->sum_g;
        run.node_h = node->sum_h;
        run.least = to_quanta(min_child_weight, own_scale->h - own_scale->weight_shift);
        run.rule = make_rule(own_scale, reg_lambda, reg_alpha, max_delta_step);
% if monotone:
        run.constraint = constraints[feature];
        run.rule = within(run.rule, node->lower, node->upper);
        const int exact_only = 1;
% else:
        const int exact_only = run.rule.alpha != 0.0f;
% endif
        const int subtract = node->sibling_slot >= 0;
        GLOBAL i64* cells = pool + 2 * ((u64)node->slot * n_codes + offset);
        GLOBAL const i64* sibling = subtract
            ? pool + 2 * ((u64)node->sibling_slot * n_codes + offset) : cells;

        sum_run(cells, sibling, subtract, &run);
        if (LOCAL_ID == 0)
            sum_missing(cells + 2 * n_bins, sibling + 2 * n_bins, subtract, has_missing, missing);
        BARRIER();
        group_scan(run.left_g, run.left_h, shared, &run.left_g, &run.full_g, &run.left_h, &run.full_h);
        sum_fullest(&run, n_bins, missing);

        /* Exact scores cost ten times rough ones: only work-items near the group's best go on. */
% if masked:
        const u32 n_words = (n_features + 31) / 32;
        const u32 searched = (allowed[(u64)index * n_words + feature / 32] >> feature % 32) & 1;
        const u32 end = ${"!feature_kinds[feature] && " if categories else ""}searched ? run.end : run.begin;
% elif categories:
        const u32 end = feature_kinds[feature] ? run.begin : run.end;
% else:
        const u32 end = run.end;
% endif
        const f32 most = best_rough(cells, run, exact_only ? run.begin : end);
        const f32 least_rough = group_max(most, best_hi) * 0.999969482421875f; /* 1 - 2^-15 */
        /* below it no score can be the best */
        const f32 least_score = exact_only ? -1.0f : least_rough;
        best_t best = best_exact(
            cells, run, most < least_score ? run.begin : end, exact_only, least_score);
        const u32 mine = best.at;
        group_best(&best.score, &best.at, best_hi, best_lo, best_key);
        if (best.at == NO_KEY ? LOCAL_ID == 0 : mine == best.at)
            write_candidate(&candidates[(u64)index * n_features + feature], feature, best);
    }
}
