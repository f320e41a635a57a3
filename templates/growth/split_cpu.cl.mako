## split_cpu: as `split`, with one work-item a group, which scores many borders in vectors
## uses: portable_math structs gain
## uses if doubles: double_scores
##
##   bins     |0 .. 255|256 .. 511|..   runs of borders are scored at a time, see `runs_of_borders`
##
## params: wg_size (1); run, bins of a run, a multiple of 16; monotone, masked, categories as in `split`;
##         clipped, weights are, by max_delta_step; shrunk, gradients are, by alpha; sparse, most bins have
##         no rows of a node: scores are of those that have, and closed features are left out;
##         doubles, the device has them, and neither `careful` nor `clipped` holds
<%page args="wg_size, run, monotone, masked, clipped, shrunk, sparse, categories, doubles"/>
<%
    careful = monotone or shrunk
%>
<%namespace name="candidates" file="candidates.cl.mako"/>
<%namespace name="runs" file="runs_of_borders.cl.mako"/>
<%namespace name="closed_features" file="closed_features.cl.mako"/>
${candidates.consider(monotone)}
% if sparse:
${closed_features.functions()}
% endif
${runs.functions(run, monotone, shrunk, clipped, sparse, doubles)}

KERNEL(${wg_size}) find(
        const u32 depth, const u32 first_feature, const u32 n_features, const u32 n_codes,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step,
        const f32 min_child_weight, GLOBAL const u32* RESTRICT constraints,
        GLOBAL const u32* RESTRICT allowed,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const u32* RESTRICT fullest,
        GLOBAL i64* pool,${" GLOBAL u8* closed," if sparse else ""}
% if categories:
        GLOBAL const u32* RESTRICT feature_kinds,
% endif
        GLOBAL candidate_t* RESTRICT candidates) {
% if not monotone:
    (void)constraints;
% endif
% if not masked:
    (void)allowed;
% endif
    const u32 id = first_feature + GROUP_ID;
    const u32 first = levels[depth].first, count = levels[depth].count;
    const u32 offset = feature_offset[id], n_bins = feature_bins[id], full = fullest[id];
    const u32 n_own = feature_offset[id + 1] - offset; /* codes: bins, and perhaps missing */
    for (u32 index = GROUP_ID_Y; index < count; index += N_GROUPS_Y) {
        GLOBAL const node_t* node = &nodes[first + index];
        GLOBAL const scale_t* own_scale = scale + node->tree;
        feature_t feature;
        feature.node_g = node->sum_g;
        feature.node_h = node->sum_h;
        feature.least = least_hessian(min_child_weight, own_scale);
        feature.rule = make_rule(own_scale, reg_lambda, reg_alpha, max_delta_step);
% if monotone:
        feature.constraint = constraints[id];
        feature.rule = within(feature.rule, node->lower, node->upper);
% endif
% if careful:
        const rule_t rule = feature.rule;
        const f32 largest = rule.max_delta > 0.0f ? rule.max_delta : UNBOUNDED;
        feature.lower = rule.lower > -largest ? (rule.lower < largest ? rule.lower : largest) : -largest;
        feature.upper = rule.upper < largest ? (rule.upper > -largest ? rule.upper : -largest) : largest;
% endif
        GLOBAL i64* cells = pool + 2 * ((u64)node->slot * n_codes + offset);
        GLOBAL candidate_t* out = &candidates[(u64)index * n_features + id];
% if sparse:
        GLOBAL u8* mark = closed + (u64)(first + index) * n_features + id;
        *mark = closed_in_parent(node, closed + id, n_features);
        if (*mark) {
            write_candidate(out, id, no_split());
            continue;
        }
% endif
        if (node->sibling_slot >= 0) {
            GLOBAL const i64* sibling = pool + 2 * ((u64)node->sibling_slot * n_codes + offset);
            for (u32 k = 0; k < 2 * n_own; k++) cells[k] -= sibling[k];
        }
        sum_apart(cells, n_own, n_bins, full, &feature);
% if sparse:
        if (!may_have_borders(feature.node_h - feature.missing_h, feature.node_h, feature.least)) {
            *mark = 1;
            write_candidate(out, id, no_split());
            continue;
        }
% endif
% if masked:
        const u32 n_words = (n_features + 31) / 32;
        const u32 searched = (allowed[(u64)index * n_words + id / 32] >> id % 32) & 1;
        const best_t best = search_borders(cells, ${"!feature_kinds[id] && " if categories else ""}searched ? n_bins : 0, full, &feature);
% elif categories:
        const best_t best = search_borders(cells, feature_kinds[id] ? 0 : n_bins, full, &feature);
% else:
        const best_t best = search_borders(cells, n_bins, full, &feature);
% endif
        write_candidate(out, id, best);
    }
}
