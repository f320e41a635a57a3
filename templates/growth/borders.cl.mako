## borders: score the borders behind a work-item's entries; `exact` imports these defs, behind `entry_items`
##
##   left      running sum - base            of a border's left child, without missing rows
##   missing   node - (behind - base)        what the segment leaves of the node's sums

<%def name="functions(items, missing, monotone)">
<%
    n_sides = 2 if missing else 1
%>
/* What the borders of a node are scored with. */
typedef struct {
    i64 node_g, node_h;
    i64 least; /* Hessian of a child */
    rule_t rule;
} run_t;

FN run_t run_of(GLOBAL const node_t* node, GLOBAL const scale_t* scale, const f32 reg_lambda,
                const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight) {
    run_t run;
    run.node_g = node->sum_g;
    run.node_h = node->sum_h;
    run.least = least_hessian(min_child_weight, scale);
    run.rule = make_rule(scale, reg_lambda, reg_alpha, max_delta_step);
% if monotone:
    run.rule = within(run.rule, node->lower, node->upper);
% endif
    return run;
}

FN f32 rough_split(const run_t* run, const i64 g, const i64 h) {
    return rough_scores(g, h, run->node_g - g, run->node_h - h, run->rule);
}

<%def name="each_border()">
    i64 at_g = item->sum_g, at_h = item->sum_h, base_g = item->base_g, base_h = item->base_h;
    EACH_ENTRY(item, k) {
        if (IS(item, starts, k)) {
            base_g = at_g;
            base_h = at_h;
        }
        const i64x2 q = sums_of(item, k);
        at_g += q.x;
        at_h += q.y;
        const i64 left_g = at_g - base_g, left_h = at_h - base_h;
        if (!IS(item, border, k) || left_h == 0) continue;
% if missing:
        const i64 missing_g = run->node_g - (item->behind_g[k] - base_g);
        const i64 missing_h = run->node_h - (item->behind_h[k] - base_h);
% endif
% for side in range(n_sides):
        {
            const u32 direction = ${side};
            const i64 g = left_g${" + missing_g" if side else ""}, h = left_h${" + missing_h" if side else ""};
            (void)direction;
            if (may_split(h, run->node_h - h, run->least)${" && missing_h > 0" if side else ""}) {
                ${caller.body()}
            }
        }
% endfor
    }
</%def>

/* The highest rough score of the borders; -1 if there is none. */
FN f32 best_rough(const item_t* item, const run_t* run) {
    f32 most = -1.0f;
<%call expr="each_border()">
                const f32 rough = rough_split(run, g, h);
                most = rough > most ? rough : most;
</%call>
    return most;
}

% if items <= 32:
/* Sums of a border's left child; by loops of constant length, so that entries stay in registers. */
FN best_t border_at(const item_t* item, const run_t* run, const u32 wanted, const u32 side) {
    best_t border = no_split();
<%call expr="each_border()">
                if (k == wanted && direction == side) {
                    border.at = 2 * item->place[k] + direction;
                    border.g = g;
                    border.h = h;
                }
</%call>
    return border;
}

/* The best of the borders whose rough score is at least `least_score`; its key is that of its place. */
FN best_t best_exact(const item_t* item, const run_t* run, const u32 exact_only, const f32 least_score,
                     GLOBAL const u32* features, GLOBAL const u32* constraints) {
    best_t best = no_split();
    u32 near[2]; /* a bit for each border, with missing rows on the right, and on the left */
    near[0] = near[1] = 0;
    (void)features; (void)constraints;
<%call expr="each_border()">
                if (exact_only || rough_split(run, g, h) >= least_score) near[direction] |= 1u << k;
</%call>
    for (u32 side = 0; side < ${n_sides}; side++) {
        for (u32 left = near[side]; left; left &= left - 1) {
            const best_t border = border_at(item, run, POPCOUNT((left & (0u - left)) - 1), side);
            consider(&best, border.g, border.h, border.at, run->node_g, run->node_h,
                     run->rule${", constraints[features[border.at / 2]]" if monotone else ""});
        }
    }
    return best;
}
% else:
/* The best of the borders whose rough score is at least `least_score`; its key is that of its place. */
FN best_t best_exact(const item_t* item, const run_t* run, const u32 exact_only, const f32 least_score,
                     GLOBAL const u32* features, GLOBAL const u32* constraints) {
    best_t best = no_split();
    (void)features; (void)constraints;
<%call expr="each_border()">
                const f32 rough = exact_only ? 0.0f : rough_split(run, g, h);
                if (exact_only || (rough >= least_score && rough * MORE >= best.score.hi))
                    consider(&best, g, h, 2 * item->place[k] + direction, run->node_g, run->node_h,
                         run->rule${", constraints[features[item->place[k]]]" if monotone else ""});
</%call>
    return best;
}
% endif
</%def>
