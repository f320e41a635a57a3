## node_borders: score a node's borders from sums of its bins, for one work-item; `whole_trees` imports it
##
##   borders   |0 .. 15|16 .. 31|..   rough scores in vectors; a run of 16 is looked at again only if its best
##                                    comes near the best of the node so far
##
##   The node's best is that of all features of a task, so most features get no exact score. As in
##   `runs_of_borders`, the best by its rough score waits for its exact one.

<%namespace name="rough_scores" file="rough_scores.cl.mako"/>
<%def name="borders(clipped)">
/* A run of borders that is scored in vectors; a feature has at most 16 runs. */
#define RUN 16
#define N_RUNS 16
#define NEVER (-1) /* the bits of no score, and less than any score's */

${rough_scores.rough(False, clipped)}
/* One node: what its borders are scored with, and the best split so far. */
typedef struct {
    i64 node_g, node_h;
    i64 missing_g, missing_h;
    i64 least;                /* Hessian of a child */
    rule_t rule;
    best_t best;
    f32 top;                  /* the best rough score */
    f32 waiting;              /* a rough score that waits for its exact one */
    i64 waiting_g, waiting_h;
    u32 waiting_at;
} search_t;

/* Sums of bins up to each border; the first entry is 0. */
typedef struct { i64 g[RUN * N_RUNS + 1]; i64 h[RUN * N_RUNS + 1]; } sums_t;

FN search_t begin_search(GLOBAL const node_t* node, GLOBAL const scale_t* scale, const f32 reg_lambda,
                         const f32 max_delta_step, const f32 min_child_weight) {
    search_t search;
    search.node_g = node->sum_g;
    search.node_h = node->sum_h;
    search.missing_g = search.missing_h = 0;
    search.least = least_hessian(min_child_weight, scale);
    search.rule = make_rule(scale, reg_lambda, 0.0f, max_delta_step);
    search.best = no_split();
    search.top = 0.0f;
    search.waiting = -1.0f;
    search.waiting_g = search.waiting_h = 0;
    search.waiting_at = NO_KEY;
    return search;
}

/* Rough scores of a run, as integers that order alike; returns the largest. */
FN i32 score_run(const i64* sum_g, const i64* sum_h, const i64 more_g, const i64 more_h,
                 const search_t* search, i32* bits) {
    const i64 node_g = search->node_g, node_h = search->node_h, least = search->least;
    const rule_t rule = search->rule;
    i32 most = NEVER;
    for (u32 k = 0; k < RUN; k++) {
        const i64 g = sum_g[k + 1] + more_g, h = sum_h[k + 1] + more_h;
        /* A bin without rows has the same rows behind it as the bin before. */
        const int allowed = (sum_h[k + 1] != sum_h[k]) & may_split(h, node_h - h, least);
        const f32 s = rough(g, h, rule) + rough(node_g - g, node_h - h, rule);
        bits[k] = allowed ? (i32)as_u32(s) : NEVER;
    }
    for (u32 k = 0; k < RUN; k++) most = bits[k] > most ? bits[k] : most;
    return most;
}

/* Give a border with these rough bits its exact score, unless that cannot be the best. */
FN void look_closer(const i32 bits, const i64 g, const i64 h, const u32 at, search_t* search) {
    const f32 near = as_f32((u32)bits);
    if (bits == NEVER || near * MORE < search->top) return;
    if (near > search->waiting * MORE) { /* what waits cannot be the best */
        search->waiting = near;
        search->waiting_g = g;
        search->waiting_h = h;
        search->waiting_at = at;
        return;
    }
    consider(&search->best, g, h, at, search->node_g, search->node_h, search->rule);
}

/* Search a feature's borders, whose first key is `key`. */
FN void search_borders(const sums_t* sums, const u32 n_bins, const u32 key, search_t* search) {
    i32 bits[RUN * N_RUNS], most[N_RUNS];
    const u32 n_runs = (n_bins + RUN - 1) / RUN;
    for (u32 direction = 0; direction < (search->missing_h > 0 ? 2u : 1u); direction++) {
        const i64 more_g = direction ? search->missing_g : 0, more_h = direction ? search->missing_h : 0;
        i32 top = NEVER;
        for (u32 run = 0; run < n_runs; run++) {
            const u32 at = run * RUN;
            most[run] = score_run(sums->g + at, sums->h + at, more_g, more_h, search, bits + at);
            top = most[run] > top ? most[run] : top;
        }
        if (top == NEVER) continue;
        if (as_f32((u32)top) > search->top) search->top = as_f32((u32)top);
        for (u32 run = 0; run < n_runs; run++) {
            if (most[run] == NEVER || as_f32((u32)most[run]) * MORE < search->top) continue;
            for (u32 at = run * RUN; at < (run + 1) * RUN; at++)
                look_closer(bits[at], sums->g[at + 1] + more_g, sums->h[at + 1] + more_h,
                            key + 2 * at + direction, search);
        }
    }
}

/* Write the best split of a node among a task's features. Keys have 10 bits for border and direction. */
FN void end_search(search_t* search, GLOBAL candidate_t* out) {
    if (search->waiting >= 0.0f)
        consider(&search->best, search->waiting_g, search->waiting_h, search->waiting_at,
                 search->node_g, search->node_h, search->rule);
    best_t best = search->best;
    const u32 key = best.at;
    best.at = key % 1024;
    write_candidate(out, key / 1024, best);
}
</%def>
