## symmetric: the split of a level that all its nodes share: the one with the highest sum of gains
## uses: portable_math structs gain
## uses if not counted: children
## uses if counted: counted_children
## uses: growth tables
## uses if drawn: draws
## uses if noisy: random portable_log noise
##
##   histogram   |a b c d|missing|   of a node and feature      add_up    |a|a+b|a+b+c|all|missing|
##
##   gains       node 0   |. . . .|     every border of a feature in every node
##               node 1   |. . . .|
##               sum      |s s s s|     in order of nodes
##
##   add_up        sums up to every border, in place; of two siblings, one is parent minus sibling
##   find_roughly  one work-group a (part of a feature's borders, tree): what each border's sum of scores
##                 is at most, in one float, and what the best one is at least
##   find          exact sums of gains, where they can be the best of all features
##   share         the best feature of a tree, if it gains enough; what its split gives to every node
##
##   Order of splits: score, then lowest feature, then lowest bin, then missing to the right. Trees of a
##   batch that still grow have 2^depth nodes each, one after the other.
##
## params: wg_size; run, borders of a work-item at a time; monotone, masked, clipped, shrunk, counted,
##         drawn, noisy as in `split_cpu`; where drawn `find_roughly` is left out; categories, some features are split by sets of levels, see `symmetric_sets`
<%page args="wg_size, run, monotone, masked, clipped, shrunk, categories, counted, drawn, noisy"/>
<%
    careful = monotone or shrunk
    sides = "sides" if categories else "rule"
    more = """
        const u32 n_cells, const f32 set_lambda, GLOBAL const u32x4* RESTRICT borders,
        GLOBAL const u32* RESTRICT border_flags, GLOBAL const i64* RESTRICT border_sums,""" if categories else ""
    extra = ", GLOBAL const u32* RESTRICT draws" if drawn or noisy else ""
    extra += ", GLOBAL const f32* RESTRICT noise" if noisy else ""
    drawn_too = "draws, " if drawn or noisy else ""
    drawn_too += "noise, " if noisy else ""
    given = "n_cells, set_lambda, borders, border_flags, border_sums, " if categories else ""
%>
<%namespace name="candidates" file="candidates.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="rough_scores" file="rough_scores.cl.mako"/>
<%namespace name="border_sums" file="border_sums.cl.mako"/>
<%namespace name="level_borders" file="level_borders.cl.mako"/>
<%namespace name="level_scores" file="level_scores.cl.mako"/>
${group.exclusive_scans("group_scan", "i64", wg_size, 2)}
${group.largest("group_max", "f32", wg_size)}
${candidates.group_best(wg_size)}
${rough_scores.rough(careful, clipped)}
${border_sums.functions(wg_size)}
${level_borders.borders(monotone, masked, categories, drawn, noisy)}
% if not drawn:
${level_scores.rough_sums(careful, categories, noisy)}
% endif
#define NO_KEY 0xFFFFFFFFu
${level_scores.best_borders(monotone, categories, drawn, noisy)}
${level_scores.shares()}
#define RUN ${run}

## The parameters of the kernels that score borders, from `more` on, and how these read a level of a tree.
<%def name="level_parameters()">
        const u32 depth, const u32 n_features, const u32 n_parts, const u32 n_codes, const f32 reg_lambda,
        const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight,
        GLOBAL const u32* RESTRICT constraints,
        ${"GLOBAL const u32* RESTRICT allowed, " if masked else ""}GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const i64x2* RESTRICT node_sums, GLOBAL const bounds_t* RESTRICT node_bounds,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const i64* RESTRICT pool${extra}
</%def>
<%def name="read_level()">
        const level_borders_t level = borders_of(
            ${given}${drawn_too}depth, tree, feature, n_features, n_codes, reg_lambda, reg_alpha, max_delta_step,
            min_child_weight, constraints, ${"allowed, " if masked else ""}levels, nodes, node_sums, node_bounds, scale,
            feature_offset, feature_bins, pool);
</%def>
${border_sums.add_up(wg_size, categories)}
% if not drawn:
KERNEL(${wg_size}) find_roughly(${more}
        ${level_parameters()},
        GLOBAL f32* RESTRICT rough_sums, GLOBAL f32* RESTRICT rough_best) {
    LOCAL_ARRAY(f32, shared, ${wg_size});
    const u32 feature = GROUP_ID / n_parts, part = GROUP_ID % n_parts;
    for (u32 tree = GROUP_ID_Y; tree < levels[depth].count >> depth; tree += N_GROUPS_Y) {
${read_level()}\
        GLOBAL f32* most = rough_sums + 2 * ((u64)tree * n_codes + feature_offset[feature]);
        f32 best = NO_SCORE;
        for (u32 begin = (part * ${wg_size} + LOCAL_ID) * RUN; begin < level.n_searched;
             begin += n_parts * ${wg_size} * RUN) {
            const u32 n = level.n_searched - begin < RUN ? level.n_searched - begin : RUN;
            for (u32 direction = 0; direction < level.directions; direction++) {
                f32 sums[RUN], errors[RUN];
                for (u32 k = 0; k < RUN; k++) sums[k] = errors[k] = 0.0f;
                for (u32 i = 0; i < level.n_nodes; i++)
                    add_roughly(&level, i, begin, n, direction, sums, errors);
                best = bound_sums(&level, begin, n, direction, sums, errors, most, best);
            }
        }
        best = group_max(level.constraint ? NO_SCORE : best, shared);
        if (LOCAL_ID == 0) rough_best[(u64)tree * N_GROUPS + GROUP_ID] = best;
    }
}
% endif

KERNEL(${wg_size}) find(${more}
        ${level_parameters()},
% if not drawn:
        GLOBAL const f32* RESTRICT rough_sums, GLOBAL const f32* RESTRICT rough_best,
% endif
        ${"GLOBAL f32* RESTRICT noisy_ranks, " if noisy else ""}GLOBAL candidate_t* RESTRICT candidates) {
    LOCAL_ARRAY(f32, best_hi, ${wg_size});
% if wg_size > 1:
    LOCAL_ARRAY(f32, best_lo, ${wg_size});
    LOCAL_ARRAY(u32, best_key, ${wg_size});
% endif
    const u32 feature = GROUP_ID;
    for (u32 tree = GROUP_ID_Y; tree < levels[depth].count >> depth; tree += N_GROUPS_Y) {
${read_level()}\
% if not drawn:
        GLOBAL const f32* most = rough_sums + 2 * ((u64)tree * n_codes + feature_offset[feature]);
        f32 least = NO_SCORE;
        for (u32 i = LOCAL_ID; i < n_features * n_parts; i += ${wg_size}) {
            const f32 other = rough_best[(u64)tree * n_features * n_parts + i];
            least = other > least ? other : least;
        }
        least = group_max(least, best_hi);
% endif
        border_t best = best_border(&level, ${"" if drawn else "most, least, "}LOCAL_ID, ${wg_size});
% if noisy:
        const u32 mine = best.key;
% endif
% if wg_size > 1:
        group_best(&best.rank, &best.key, best_hi, best_lo, best_key);
% endif
% if noisy:
        if (best.key == NO_KEY ? LOCAL_ID == 0 : mine == best.key) {
            noisy_ranks[(u64)tree * n_features + feature] = best.rank.hi;
% else:
        if (LOCAL_ID == 0) {
% endif
            GLOBAL candidate_t* out = &candidates[(u64)tree * n_features + feature];
            out->left_g = out->left_h = 0;
            out->score_hi = best.${"gain" if noisy else "rank"}.hi;
            out->score_lo = best.${"gain" if noisy else "rank"}.lo;
            out->feature = feature;
            out->bin_direction = best.key;
        }
    }
}

/* The split of a node's tree: `chosen` has the node's own sums and gain, or no score. */
KERNEL(${wg_size}) share(${more}
        const u32 depth, const u32 n_features, const u32 n_codes, const f32 gamma, const f32 reg_lambda,
        const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const i64x2* RESTRICT node_sums, GLOBAL const bounds_t* RESTRICT node_bounds,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const i64* RESTRICT pool,
        GLOBAL const candidate_t* RESTRICT candidates,
        ${"GLOBAL const f32* RESTRICT noisy_ranks, " if noisy else ""}GLOBAL candidate_t* RESTRICT chosen) {
    const u32 first = levels[depth].first, count = levels[depth].count;
    for (u32 index = GROUP_ID * ${wg_size} + LOCAL_ID; index < count; index += N_GROUPS * ${wg_size}) {
        GLOBAL const node_t* node = &nodes[first + index];
        GLOBAL const scale_t* own_scale = scale + node->tree;
        const bounds_t bounds = node_bounds[first + index];
        const rule_t rule = node_rule(own_scale, reg_lambda, reg_alpha, max_delta_step, bounds);
        GLOBAL const candidate_t* best = candidates + (u64)(index >> depth) * n_features;
        best += ${"highest_of(noisy_ranks + (u64)(index >> depth) * n_features, n_features)" if noisy else "best_of(best, n_features)"};
        candidate_t own = level_split(best, rule, gamma);
        const i64x2 sums = node_sums[first + index];
        if (own.score_hi > NO_SCORE && sums.y > 0) {
            const u32 offset = feature_offset[own.feature];
            GLOBAL const i64* cells = pool + 2 * ((u64)node->slot * n_codes + offset);
% if categories:
            const u32x4 of_set = borders[own.feature];
            if (of_set.x) cells = border_sums + 2 * ((u64)node->slot * n_cells + of_set.y);
            const u32 missing = of_set.x ? of_set.z : feature_bins[own.feature];
            const f32 lambda = of_set.x == 1 ? set_lambda : reg_lambda;
            const rule_t sides = node_rule(own_scale, lambda, reg_alpha, max_delta_step, bounds);
% else:
            const u32 missing = feature_bins[own.feature];
% endif
            take_share(&own, cells, missing, sums, least_child(min_child_weight, own_scale), rule, ${sides});
        }
        chosen[index] = own;
    }
}
