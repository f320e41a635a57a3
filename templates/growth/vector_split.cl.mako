## vector_split: the split of every node of trees whose leaves are vectors: that with the highest sum of gains
## uses: portable_math structs gain
## uses if not counted: children
## uses if counted: counted_children
## uses: growth tables
##
##   A tree of n outputs grows as n trees, one for each output, whose nodes at a place have the same rows. A level
##   has the nodes of the first tree, then those of the second, and so on:
##
##       nodes        |tree 0: 0 1 2 3|tree 1: 0 1 2 3|       4 places, 2 outputs
##       gain of 1            .               .               added up over the outputs, in their order
##
##   With symmetric trees a place has `width` neighbouring nodes of each output, those of a tree's level.
##
##   add_up   sums up to every border, in place; of two siblings, one is parent minus sibling
##   find     one work-group a (feature, place): the border with the highest sum of gains; a rough sum in one
##            float tells which borders are worth an exact one, in two floats: those near the group's best, and
##            near the best that the place has so far. The record of its first node tells that (its `gain`)
##   share    one work-group a place: the best feature, if it gains enough; what its split gives to each
##            output's node
##
##   Outputs have scales of their own, so gains are added up in real units. In an output where a side is lighter
##   than min_child_weight, a split gains nothing, and both children keep the node's weight.
##   Order of splits: gain, then lowest feature, then lowest bin, then missing to the right.
##
## params: wg_size; run, borders of a work-item at a time; masked, nodes have features of their own; shrunk, gradients are; monotone,
##         as in `split`;
##         ranked, the policy picks leaves by `place_gain`; counted as in `split`; categories as in `symmetric`
<%page args="wg_size, run, masked, shrunk, monotone, counted, ranked, categories"/>
## Terms of rough scores would cancel where gradients are shrunk; weights within bounds have other scores.
<%
    rough = not (shrunk or monotone)
    limits = """
        GLOBAL const bounds_t* RESTRICT node_bounds, GLOBAL const u32* RESTRICT constraints,""" if monotone else ""
    sets = """
        const u32 n_cells, const f32 set_lambda, GLOBAL const u32x4* RESTRICT borders,
        GLOBAL const i64* RESTRICT border_sums,""" if categories else ""
    flags = """
        const u32 n_sets, GLOBAL const u32* RESTRICT border_flags, GLOBAL const u32* RESTRICT leads,""" if categories else ""
%>\
<%namespace name="candidates" file="candidates.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="border_sums" file="border_sums.cl.mako"/>
<%namespace name="places" file="scores_of_places.cl.mako"/>
${group.exclusive_scans("group_scan", "i64", wg_size, 2)}
${group.largest("group_max", "f32", wg_size) if rough else ""}
${candidates.group_best(wg_size)}
${border_sums.functions(wg_size)}
#define NO_KEY 0xFFFFFFFFu
#define RUN ${run}

${border_sums.add_up(wg_size, categories)}
${places.functions(wg_size, rough, monotone, categories)}
% if rough:
/* What the best of a work-item's borders scores at least; `sums` are those of its last ones. */
FN f32 best_roughly(const place_t* place, f32* sums) {
    f32 most = NO_SCORE;
    for (u32 base = 0; base < place->n_bins; base += ${wg_size} * RUN) {
        add_roughly(place, base + LOCAL_ID, sums);
        const f32 own = least_best(place, base + LOCAL_ID, sums);
        most = own > most ? own : most;
    }
    return most;
}

/* The best rough score of a place so far: that in the record of its first node, or `most`. */
FN f32 best_so_far(GLOBAL node_t* node, const f32 most) {
    const f32 before = as_f32(atomic_max_global_u32(&node->gain, most > 0.0f ? as_u32(most) : 0u));
    return before > most ? before : most;
}

% endif
/* Compare a border with the best so far, by its exact gain. */
FN void consider(const place_t* place, const u32 at, df* top, u32* key) {
    const df sum = exact_gain(place, at);
    const u32 left = at >= place->n_bins, own = 2 * (at - left * place->n_bins) + left;
    if (!ahead(sum, own, *top, *key)) return;
    *top = sum;
    *key = own;
}

FN void write_candidate(GLOBAL candidate_t* out, const df score, const u32 feature, const u32 key) {
    out->left_g = out->left_h = 0;
    out->score_hi = score.hi;
    out->score_lo = score.lo;
    out->feature = feature;
    out->bin_direction = key;
}

KERNEL(${wg_size}) find(${sets}${flags}
        const u32 depth, const u32 n_outputs, const u32 width, const u32 n_features, const u32 n_codes,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight,
        ${"GLOBAL const u32* RESTRICT allowed, " if masked else ""}GLOBAL const level_t* RESTRICT levels,
        GLOBAL node_t* nodes, GLOBAL const i64x2* RESTRICT node_sums,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const i64* RESTRICT pool,${limits}
        GLOBAL candidate_t* RESTRICT candidates) {
    LOCAL_ARRAY(f32, best_hi, ${wg_size});
% if rough:
    LOCAL_ARRAY(f32, known, 1);
% endif
% if wg_size > 1:
    LOCAL_ARRAY(f32, best_lo, ${wg_size});
    LOCAL_ARRAY(u32, best_key, ${wg_size});
% endif
    const u32 feature = GROUP_ID, offset = feature_offset[feature], first = levels[depth].first;
    place_t place;
    place.nodes = nodes + first, place.sums = node_sums + first, place.scale = scale;
    ${"place.bounds = node_bounds + first, place.constraint = constraints[feature];" if monotone else ""}
    place.pool = pool + 2 * (u64)offset, place.slot_cells = 2 * (u64)n_codes;
    place.n_bins = feature_bins[feature];
    place.n_borders = place.n_bins * (feature_offset[feature + 1] - offset > place.n_bins ? 2 : 1);
    place.width = width, place.n_nodes = n_outputs * width, place.n_own = levels[depth].count / n_outputs;
    place.lambda = reg_lambda, place.alpha = reg_alpha;
    place.max_delta = max_delta_step, place.min_child_weight = min_child_weight;
% if categories:
    const u32x4 of_set = borders[feature];
    take_sets(&place, of_set, border_sums, n_cells, set_lambda);
% endif
    const u32 every = place.n_borders;
    (void)every;
    for (u32 number = GROUP_ID_Y; number < place.n_own / width; number += N_GROUPS_Y) {
        place.first = number * width;
% if categories:
        place.flags = border_flags + of_set.y;
        if (of_set.x) place.flags += (u64)leads[nodes[first + place.first].tree * n_sets + of_set.w] * n_cells;
% endif
% if masked:
        const u32 word = allowed[(u64)place.first * ((n_features + 31) / 32) + feature / 32];
        place.n_borders = (word >> feature % 32) & 1 ? every : 0;
% endif
        u32 key = NO_KEY;
        df top = df_make(NO_SCORE, 0.0f);
% if not rough:
        (void)best_hi;
        for (u32 at = LOCAL_ID; at < place.n_borders; at += ${wg_size}) {
            if (!is_open(&place, at)) continue;
% else:
        f32 sums[2 * RUN];
        const f32 most = group_max(best_roughly(&place, sums), best_hi);
        if (LOCAL_ID == 0) known[0] = best_so_far(&nodes[first + place.first], most);
        BARRIER();
        const f32 least = known[0];
        for (u32 base = 0; base < place.n_bins; base += ${wg_size} * RUN) {
            if (place.n_bins > ${wg_size} * RUN) add_roughly(&place, base + LOCAL_ID, sums);
            for (u32 k = 0; k < 2 * RUN; k++) {
                const u32 at = border_of(&place, base + LOCAL_ID, k);
                if (at == NO_BORDER || sums[k] + sums[k] * rough_error(&place) < least) continue;
% endif
                consider(&place, at, &top, &key);
% if rough:
            }
% endif
        }
% if wg_size > 1:
        group_best(&top, &key, best_hi, best_lo, best_key);
% endif
        if (LOCAL_ID == 0) write_candidate(&candidates[(u64)number * n_features + feature], top, feature, key);
    }
}

/* The split of a node's place: `chosen` has the node's own sums and gain, or no score. */
KERNEL(${wg_size}) share(${sets}
        const u32 depth, const u32 n_outputs, const u32 width, const u32 n_features, const u32 n_codes, const f32 gamma,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const i64x2* RESTRICT node_sums, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL const i64* RESTRICT pool,${" GLOBAL const bounds_t* RESTRICT node_bounds, " if monotone else ""}
        GLOBAL const candidate_t* RESTRICT candidates,
        GLOBAL candidate_t* RESTRICT chosen${", GLOBAL f32* RESTRICT place_gain" if ranked else ""}) {
${candidates.best_arrays(wg_size)}\
    LOCAL_ARRAY(candidate_t, best, 1);
    const u32 first = levels[depth].first, n_own = levels[depth].count / n_outputs;
    for (u32 place = GROUP_ID; place < n_own / width; place += N_GROUPS) {
        GLOBAL const candidate_t* every = candidates + (u64)place * n_features;
        df top = df_make(NO_SCORE, 0.0f);
        u32 feature = NO_KEY;
        for (u32 i = LOCAL_ID; i < n_features; i += ${wg_size}) {
            const df score = df_make(every[i].score_hi, every[i].score_lo);
            if (!ahead(score, i, top, feature)) continue;
            top = score;
            feature = i;
        }
% if wg_size > 1:
        BARRIER();
        group_best(&top, &feature, best_hi, best_lo, best_key);
% endif
        if (LOCAL_ID == 0) best[0] = every[feature];
        BARRIER();
        for (u32 i = LOCAL_ID; i < n_outputs * width; i += ${wg_size}) {
            const u32 index = i / width * n_own + place * width + i % width;
            GLOBAL const node_t* node = &nodes[first + index];
            candidate_t own = best[0];
            own.left_g = own.left_h = 0;
% if ranked:
            place_gain[index] = own.score_hi > 1e-6f && own.score_hi >= gamma ? own.score_hi : -1.0f;
% endif
            own.score_hi = own.score_hi > 1e-6f && own.score_hi >= gamma ? 0.0f : NO_SCORE;
            own.score_lo = 0.0f;
            const i64x2 sums = node_sums[first + index];
            if (own.score_hi > NO_SCORE && sums.y > 0) {
                GLOBAL const scale_t* own_scale = scale + node->tree;
                const rule_t unbounded = make_rule(own_scale, reg_lambda, reg_alpha, max_delta_step);
                const rule_t rule = ${"within(unbounded, node_bounds[first + index])" if monotone else "unbounded"};
                GLOBAL const i64* cells = pool + 2 * ((u64)node->slot * n_codes + feature_offset[own.feature]);
% if categories:
                const u32x4 of_set = borders[own.feature];
                if (of_set.x) cells = border_sums + 2 * ((u64)node->slot * n_cells + of_set.y);
                const u32 bin = own.bin_direction >> 1, missing = of_set.x ? of_set.z : feature_bins[own.feature];
                rule_t sides = rule;
                if (of_set.x == 1) sides.lambda = make_rule(own_scale, set_lambda, reg_alpha, max_delta_step).lambda;
% else:
                const u32 bin = own.bin_direction >> 1, missing = feature_bins[own.feature];
% endif
                own.left_g = cells[2 * bin] + (own.bin_direction & 1 ? cells[2 * missing] : 0);
                own.left_h = cells[2 * bin + 1] + (own.bin_direction & 1 ? cells[2 * missing + 1] : 0);
                const df gained = gain_in_node(own.left_g, own.left_h, sums.x, sums.y,
                                               least_child(min_child_weight, own_scale), rule, ${"sides" if categories else "rule"});
                own.score_hi = gained.hi;
                own.score_lo = gained.lo;
            }
            chosen[index] = own;
        }
        BARRIER();
    }
}
