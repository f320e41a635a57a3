## candidates: compare splits; `split`, `split_cpu` and `best` import it
##
##   item      0      1      2      3         score (in two floats) and key of each work-item's best split
##   runs    |  the best of a run  |  ..      a work-item compares each run, then one compares the runs
##   all                                      the group's best; of equal scores the one with the lower key

## `bare`: sums of the best split are not kept, as registers are few; `give_sums` tells them.
<%def name="consider(monotone, noisy=False, smooth=False, bare=False, frugal=False)">
<%
    constraint = ", const u32 constraint" if monotone else ""
%>
#define NO_KEY 0xFFFFFFFFu
#define MORE 1.000030517578125f /* 1 + 2^-15: if rough scores differ by more, exact ones have the same order */
#define LESS 0.999969482421875f /* 1 - 2^-15 */

/* A node that may split, and what its borders are scored with. */
typedef struct {
    i64 g, h;   /* sums of its rows */
    least_t least; /* of a child */
    rule_t rule;
% if noisy:
    u32 bits;   /* of the feature, for noise in its borders' scores */
    f32 noise;
% endif
% if smooth:
    smoothing_t smoothing; /* of its children */
% endif
% if frugal:
    LOCAL volatile i64* sums; /* of a work-item's bins so far */
% endif
} parent_t;

/* Set what the nodes of a tree have in common. */
FN void read_tree(parent_t* parent, GLOBAL const scale_t* scale, const f32 reg_lambda, const f32 reg_alpha,
                  const f32 max_delta_step, const f32 min_child_weight) {
    parent->least = least_child(min_child_weight, scale);
    parent->rule = make_rule(scale, reg_lambda, reg_alpha, max_delta_step);
}

FN void read_node(parent_t* parent, const i64x2 sums${", const bounds_t bounds" if monotone else ""}) {
    parent->g = sums.x;
    parent->h = sums.y;
% if monotone:
    parent->rule = within(parent->rule, bounds);
% endif
}

/* Whether rough scores tell nothing of a tree: terms cancel, or their products might overflow. */
FN int is_exact_only(const parent_t* parent) {
    return parent->rule.alpha != 0.0f || parent->rule.lambda > LARGE_LAMBDA;
}

/* The best split so far: its score, its key, and the sums of its left child. */
typedef struct { df score; u32 at; i64 g; i64 h;${" f32 rank;" if noisy else ""} } best_t;

FN best_t no_split(void) {
    best_t best;
    best.score = df_make(NO_SCORE, 0.0f);
    best.at = NO_KEY;
    best.g = best.h = 0;
% if noisy:
    best.rank = NO_SCORE;
% endif
    return best;
}

/* Compare a split with the best so far, by its exact score; (g, h) are the sums of its left child. */
FN void consider(best_t* best, const i64 g, const i64 h, const u32 at,
                 const parent_t* node${constraint}) {
    const rule_t rule = node->rule;
    const i64 right_g = node->g - g, right_h = node->h - h;
% if monotone:
    if (!keeps_order(constraint, g, h, right_g, right_h, rule)) return;
% endif
% if smooth:
    const df s = df_add(smoothed_score(g, h, rule, node->smoothing),
                        smoothed_score(right_g, right_h, rule, node->smoothing));
% else:
    const df s = df_add(score(g, h, rule), score(right_g, right_h, rule));
% endif
% if noisy:
    const f32 rank = noisy_rank(s.hi, node->bits, at, node->noise);
    if (rank > best->rank || (rank == best->rank && at < best->at)) {
        best->rank = rank;
% else:
    if (ahead(s, at, best->score, best->at)) {
% endif
        best->score = s;
        best->at = at;
% if not bare:
        best->g = g;
        best->h = h;
% endif
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

## The walk of a work-item over borders of a node: first roughly, then those near the group's best exactly. The def
## `each_border` visits the borders of `node` that may be splits, with g and h. In C are `arguments`, the key `at`, and
## `constraint`, whose own arguments are `known`.
<%def name="best_rough(each_border, arguments, noisy_at='')">
/* ${"What the best of a work-item's borders ranks at least; NO_SCORE" if noisy_at else "The highest rough score of a work-item's borders; -1"} if there is none. */
FN f32 best_rough(${arguments}) {
    f32 most = ${"NO_SCORE" if noisy_at else "-1.0f"};
<%call expr="each_border()">
                const f32 rough = rough_scores(g, h, node->g - g, node->h - h, node->rule);
% if noisy_at:
                const rough_rank_t found = rough_rank(rough, node->bits, ${noisy_at}, node->noise);
                most = found.rank - found.error > most ? found.rank - found.error : most;
% else:
                most = rough > most ? rough : most;
% endif
</%call>
    return most;
}
</%def>

<%def name="best_exact(each_border, arguments, at, known, constraint, noisy=False)">
/* The best of a work-item's borders whose rough score is at least `least_score`. */
FN best_t best_exact(${arguments}, ${known}const int exact_only, const f32 least_score) {
    best_t best = no_split();
<%call expr="each_border()">
                const f32 rough = exact_only ? 0.0f : rough_scores(g, h, node->g - g, node->h - h, node->rule);
% if noisy:
                const rough_rank_t found = rough_rank(rough, node->bits, ${at}, node->noise);
                if (exact_only || (found.rank + found.error >= least_score && found.rank + found.error >= best.rank))
% else:
                if (exact_only || (rough >= least_score && rough * MORE >= best.score.hi))
% endif
                    consider(&best, g, h, ${at}, node${f", {constraint}" if constraint else ""});
</%call>
    return best;
}
</%def>

<%def name="give_sums(each_border, arguments, at)">
/* Give a candidate the sums of its left child, if it is one of a work-item's borders. */
FN void give_sums(${arguments}, GLOBAL candidate_t* best) {
<%call expr="each_border()">
                if (${at} == best->bin_direction) {
                    best->left_g = g;
                    best->left_h = h;
                }
</%call>
}
</%def>

<%def name="walk_borders(each_border, arguments, at, known='', constraint='', noisy=False)">
${best_rough(each_border, arguments, at if noisy else '')}
${best_exact(each_border, arguments, at, known, constraint, noisy)}
</%def>

## The arrays of a kernel that calls `group_best`.
<%def name="best_arrays(wg_size)">
% if wg_size > 1:
    LOCAL_ARRAY(f32, best_hi, ${wg_size});
    LOCAL_ARRAY(f32, best_lo, ${wg_size});
    LOCAL_ARRAY(u32, best_key, ${wg_size});
% endif
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
