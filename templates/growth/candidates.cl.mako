## candidates: compare splits; `split`, `split_cpu` and `best` import it
##
##   item      0      1      2      3         score (in two floats) and key of each work-item's best split
##   runs    |  the best of a run  |  ..      a work-item compares each run, then one compares the runs
##   all                                      the group's best; of equal scores the one with the lower key

<%def name="consider(monotone)">
<%
    constraint = ", const u32 constraint" if monotone else ""
    order = " && keeps_order(constraint, g, h, right_g, right_h, rule)" if monotone else ""
%>
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
                 const i64 node_g, const i64 node_h, const rule_t rule${constraint}) {
    const i64 right_g = node_g - g, right_h = node_h - h;
    const df s = df_add(score(g, h, rule), score(right_g, right_h, rule));
    if (ahead(s, at, best->score, best->at)${order}) {
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
</%def>

<%def name="group_best(wg_size)">
<%
    run = 1
    while run * run < wg_size:
        run *= 2
%>
% if wg_size > 1:
/* Give the group's best (score, key) to every work-item. */
FN void group_best(df* best, u32* key, LOCAL f32* hi, LOCAL f32* lo, LOCAL u32* keys) {
    const u32 id = LOCAL_ID;
    hi[id] = best->hi;
    lo[id] = best->lo;
    keys[id] = *key;
    BARRIER();
% for width in ([run, wg_size // run] if wg_size > run else [wg_size]):
<%
    step = 1 if loop.first else run
%>
    if (id < ${wg_size // (step * width)}) { /* the best of ${width} */
        const u32 mine = id * ${step * width};
        for (u32 other = mine + ${step}; other < mine + ${step * width}; other += ${step}) {
            if (ahead(df_make(hi[other], lo[other]), keys[other], df_make(hi[mine], lo[mine]), keys[mine])) {
                hi[mine] = hi[other];
                lo[mine] = lo[other];
                keys[mine] = keys[other];
            }
        }
    }
    BARRIER();
% endfor
    *best = df_make(hi[0], lo[0]);
    *key = keys[0];
    BARRIER();
}
% endif
</%def>
