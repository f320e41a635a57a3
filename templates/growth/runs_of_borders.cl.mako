## runs_of_borders: search a feature's borders by runs, for one work-item; `split_cpu` and `whole_trees` import these
##                  defs, behind `candidates.consider`
##
##   bins     |0 .. 255|256 .. 511|..   a run: sums up to every border first, then rough scores in
##   scores   |        |          |..   vectors of 16; an exact one only for borders near the best
##
##   The best by its rough score waits for its exact one until nothing is clearly ahead of it.
##   Where few borders are clearly ahead, as where all gradients have one sign, doubles tell more of them
##   apart. They only decide which exact scores are computed.
##
##   Where gradients shrink or weights are bounded, scores cancel: then each one has an error of its
##   own, and none waits.
##
##   sparse: bins without Hessians are left out of a run before it is scored; no border is behind them
##   kept: a run keeps its bins' Hessians; else they are differences of sums

<%namespace name="rough_scores" file="rough_scores.cl.mako"/>
<%def name="functions(run, monotone, careful, clipped, sparse, doubles, kept=True, noisy=False)">
<%
    number = "f64" if doubles else "f32"
    own_h, has_rows = ("sums->own_h", "own_h[k] != 0") if kept else ("sums->h", "own_h[k] != sum_h[k]")
    first = "" if kept else " + 1"
    bounds = "search->lower, search->upper, " * careful + "search->constraint, " * monotone
    key = "2 * sums->bin[k]" if sparse else "key + 2 * k"
    noise = {"keys": "const u32* bins, const u32 direction, " if sparse else "const u32 key, ",
             "noisy_at": "2 * bins[k] + direction" if sparse else "key + 2 * k"} if noisy else {}
    keys = ("sums->bin + at, direction, " if sparse else "key + 2 * at + direction, ") if noisy else ""
%>
#define RUN ${run}

${rough_scores.rough(careful, clipped, doubles)}
${rough_scores.score_run(16, careful, monotone, has_rows=has_rows, doubles=doubles, **noise)}
/* ${"Hessians of a run's bins, and sums" if kept else "Sums of a run's bins"} up to the border behind each of them${"" if kept else "; h[0] is 0"}. */
typedef struct {
    i64 ${"own_h[RUN], g[RUN], h[RUN]" if kept else "g[RUN], h[RUN + 1]"};
% if sparse:
    u32 bin[RUN];
% endif
} sums_t;

/* The best split so far, and what keeps others from an exact score. */
typedef struct {
    best_t best;
% if careful:
    i32 top;                  /* what the best score reaches, whatever its error */
    f32 lower, upper;         /* bounds of the node's weights */
    u32 constraint;
% else:
    f32 top;                  /* the best rough score */
    ${number} waiting;              /* a rough score that waits for its exact one */
    i64 waiting_g, waiting_h;
    u32 waiting_at;
% endif
} search_t;

FN search_t begin_search(${"const rule_t rule, const u32 constraint" if careful else "void"}) {
    search_t search;
    search.best = no_split();
% if careful:
    search.top = NEVER;
    search.constraint = constraint;
    bounds_of(rule, &search.lower, &search.upper);
% else:
    search.top = 0.0f;
    search.waiting = -1.0f;
    search.waiting_g = search.waiting_h = 0;
    search.waiting_at = NO_KEY;
% endif
    return search;
}

/* Give a border with these rough bits its exact score, unless that cannot be the best. */
FN void look_closer(const i32 bits, const i64 g, const i64 h, const u32 at, const parent_t* node,
                    search_t* search) {
    if (bits == NEVER) return;
% if careful:
    if (bits < search->top) return;
% else:
    if (as_f32((u32)bits) * MORE < search->top) return;
% if doubles:
    const f64 near = score_in_f64(g, h, node->rule) + score_in_f64(node->g - g, node->h - h, node->rule);
    if (near * MORE_F64 < search->waiting) return; /* what waits is better */
    if (near > search->waiting * MORE_F64) {
% else:
    const f32 near = as_f32((u32)bits);
    if (near > search->waiting * MORE) { /* what waits cannot be the best */
% endif
        search->waiting = near;
        search->waiting_g = g;
        search->waiting_h = h;
        search->waiting_at = at;
        return;
    }
% endif
    consider(&search->best, g, h, at, node${", search->constraint" if monotone else ""});
}

% if doubles:
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
        first[at / 16] = sums->h[at${first}] + more_h;
        last[at / 16] = node->h - (sums->h[at + 15${first}] + more_h);
    }
    for (u32 i = 0; i < (n + 15) / 16; i++) {
        const f64 d = sum_in_f64(first[i]) + lambda, other_d = sum_in_f64(last[i]) + lambda;
        const f64 one = most_of_pair(sum_in_f64(least[i]), sum_in_f64(node->g - least[i]), d, other_d);
        const f64 two = most_of_pair(sum_in_f64(most[i]), sum_in_f64(node->g - most[i]), d, other_d);
        bounds[i] = (f32)(one > two ? one : two);
    }
}

% endif
/* Search the borders of a run of n bins, with the missing rows on the right and, if there are any, on the left;
   the first border's key is `key`. */
FN void search_run(sums_t* sums, const u32 n, const i64 missing_g, const i64 missing_h, const u32 key,
                   const parent_t* node, search_t* search) {
    i32 bits[RUN], most[RUN / 16];
% if doubles:
    f32 bounds[RUN / 16];
% endif
% if kept:
    for (u32 k = n; k % 16; k++) { /* no borders */
        sums->own_h[k] = 0;
        sums->g[k] = sums->g[n - 1];
        sums->h[k] = sums->h[n - 1];
    }
% else:
    for (u32 k = n; k % 16; k++) {
        sums->g[k] = sums->g[n - 1];
        sums->h[k + 1] = sums->h[n];
    }
% endif
    for (u32 direction = 0; direction < (missing_h > 0 ? 2u : 1u); direction++) {
        const i64 more_g = direction ? missing_g : 0, more_h = direction ? missing_h : 0;
% if doubles:
        bound_runs(sums, n, more_g, more_h, node, bounds);
% endif
        for (u32 at = 0; at < n; at += 16) {
% if doubles:
            most[at / 16] = NEVER;
            if (bounds[at / 16] * MORE < search->top) continue; /* none of them can be the best */
% endif
            const i32 own = score_16(${keys}${own_h} + at, sums->g + at, sums->h + at${first}, more_g, more_h, node, ${bounds}bits + at);
            most[at / 16] = own;
% if careful:
            search->top = own > search->top ? own : search->top;
% else:
            if (own != NEVER && as_f32((u32)own) > search->top) search->top = as_f32((u32)own);
% endif
        }
        for (u32 at = 0; at < n; at += 16) {
% if not careful:
            if (most[at / 16] == NEVER || as_f32((u32)most[at / 16]) * MORE < search->top) continue;
% endif
            for (u32 k = at; k < at + 16; k++)
                look_closer(bits[k], sums->g[k] + more_g, sums->h[k${first}] + more_h, ${key} + direction, node, search);
        }
    }
    (void)key; (void)most;
}

FN best_t end_search(search_t* search, const parent_t* node) {
% if careful:
    (void)node;
% else:
    if (search->waiting >= 0.0f)
        consider(&search->best, search->waiting_g, search->waiting_h, search->waiting_at, node);
% endif
    return search->best;
}
</%def>
