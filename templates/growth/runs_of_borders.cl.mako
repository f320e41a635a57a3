## runs_of_borders: score a feature's borders by runs, for one work-item; `split_cpu` imports these defs,
##                  behind `candidates.consider`
##
##   bins     |0 .. 255|256 .. 511|..   a run: sums up to every border first, then rough scores in
##   scores   |        |          |..   vectors; an exact one only for borders near the best
##
##   The best by its rough score waits for its exact one until nothing is clearly ahead of it.
##   Where few borders are clearly ahead, as where all gradients have one sign, doubles tell more of them
##   apart. They only decide which exact scores are computed.
##
##   Where gradients shrink or weights are bounded, scores cancel: then each one has an error of its
##   own, and none waits.
##
##   sparse: bins without Hessians are left out of a run before it is scored; no border is behind them

<%namespace name="rough_scores" file="rough_scores.cl.mako"/>
<%def name="functions(run, monotone, shrunk, clipped, sparse, doubles)">
<%
    careful = monotone or shrunk
    number = "f64" if doubles else "f32"
    constraint = ", feature->constraint" if monotone else ""
%>
#define RUN ${run}
#define NEVER ${"(-2147483647 - 1)" if careful else "(-1)"} /* the bits of no score, and less than any score's */

${rough_scores.rough(careful, clipped)}
/* A feature of a node: what its borders are scored with. */
typedef struct {
    i64 full_g, full_h;       /* of the fullest code */
    i64 missing_g, missing_h;
    i64 node_g, node_h;
    i64 least;                /* Hessian of a child */
    rule_t rule;
% if monotone:
    u32 constraint;
% endif
% if careful:
    f32 lower, upper;         /* bounds of weights */
% endif
} feature_t;

/* The best split so far, and what keeps others from an exact score. */
typedef struct {
    best_t best;
% if careful:
    i32 top;                  /* what the best score reaches, whatever its error */
% else:
    f32 top;                  /* the best rough score */
    ${number} waiting;              /* a rough score that waits for its exact one */
    i64 waiting_g, waiting_h;
    u32 waiting_at;
% endif
} search_t;

FN search_t no_search(void) {
    search_t search;
    search.best = no_split();
% if careful:
    search.top = NEVER;
% else:
    search.top = 0.0f;
    search.waiting = -1.0f;
    search.waiting_g = search.waiting_h = 0;
    search.waiting_at = NO_KEY;
% endif
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
% if careful:
    const f32 lower = feature->lower, upper = feature->upper;
    i32 sure[16];
% endif
    for (u32 k = 0; k < 16; k++) {
        const i64 g = sum_g[k] + more_g, h = sum_h[k] + more_h;
        /* A bin without rows has the same rows behind it as the bin before. */
        const int allowed = (own_h[k] != 0) & may_split(h, node_h - h, least);
% if careful:
        const side_t l = rough(g, h, rule, lower, upper);
        const side_t r = rough(node_g - g, node_h - h, rule, lower, upper);
        const f32 s = l.score + r.score, error = l.score_error + r.score_error;
        const i32 highest = (i32)as_u32(s + error), lowest = (i32)as_u32(s - error);
% if monotone:
        const u32 constraint = feature->constraint;
        const f32 rises = r.weight - l.weight;
        const f32 ordered = constraint == 2 ? -rises : rises;
        const f32 doubt = l.weight_error + r.weight_error;
        const int differ = (l.bound == 0) | (l.bound != r.bound);
        const int may = allowed & differ & ((constraint == 0) | (ordered >= -doubt));
        const f32 apart = constraint == 0 && rises < 0.0f ? -rises : ordered;
        const int does = allowed & (apart > doubt);
% else:
        const int may = allowed, does = allowed;
% endif
        bits[k] = may ? SORTABLE(highest) : NEVER;
        sure[k] = does ? SORTABLE(lowest) : NEVER;
    }
    for (u32 k = 0; k < 16; k++) most = sure[k] > most ? sure[k] : most;
    search->top = most > search->top ? most : search->top;
% else:
        const f32 s = rough(g, h, rule) + rough(node_g - g, node_h - h, rule);
        bits[k] = allowed ? (i32)as_u32(s) : NEVER;
    }
    for (u32 k = 0; k < 16; k++) most = bits[k] > most ? bits[k] : most;
    if (most != NEVER && as_f32(most) > search->top) search->top = as_f32(most);
% endif
}

/* Give a border with these rough bits its exact score, unless that cannot be the best. */
FN void look_closer(const i32 bits, const i64 g, const i64 h, const u32 at,
                    const feature_t* feature, search_t* search) {
    if (bits == NEVER) return;
% if careful:
    if (bits < search->top) return;
% else:
    if (as_f32(bits) * MORE < search->top) return;
% if doubles:
    const f64 near = score_in_f64(g, h, feature->rule)
                     + score_in_f64(feature->node_g - g, feature->node_h - h, feature->rule);
    if (near * MORE_F64 < search->waiting) return; /* what waits is better */
    if (near > search->waiting * MORE_F64) {
% else:
    const f32 near = as_f32(bits);
    if (near > search->waiting * MORE) { /* what waits cannot be the best */
% endif
        search->waiting = near;
        search->waiting_g = g;
        search->waiting_h = h;
        search->waiting_at = at;
        return;
    }
% endif
    consider(&search->best, g, h, at, feature->node_g, feature->node_h, feature->rule${constraint});
}

/* Find the best split of a node's feature. */
FN best_t search_borders(GLOBAL const i64* cells, const u32 n_bins, const u32 full,
                         const feature_t* feature) {
    i64 own_h[RUN], sum_g[RUN], sum_h[RUN]; /* of a bin, and up to the border behind it */
    i32 bits[RUN];                          /* rough scores */
% if sparse:
    u32 bins[RUN];
% endif
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
% if sparse:
            bins[n] = bin;
            n += own_h[n] != 0 ? 1 : 0;
% else:
            n++;
% endif
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
                            2 * ${"bins[k]" if sparse else "(start + k)"} + direction, feature, &search);
            }
        }
    }
% if not careful:
    if (search.waiting >= 0.0f) {
        consider(&search.best, search.waiting_g, search.waiting_h, search.waiting_at,
                 feature->node_g, feature->node_h, feature->rule);
    }
% endif
    return search.best;
}
</%def>
