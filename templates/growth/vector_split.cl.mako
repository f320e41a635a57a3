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
##   find     one work-group a (feature, place): the border with the highest sum of gains, in two floats
##   share    the best feature of a place, if it gains enough; what its split gives to each output's node
##
##   Outputs have scales of their own, so gains are added up in real units. In an output where a side is lighter
##   than min_child_weight, a split gains nothing, and both children keep the node's weight.
##   Order of splits: gain, then lowest feature, then lowest bin, then missing to the right.
##
## params: wg_size; run, borders of a work-item at a time; masked, nodes have features of their own; counted as in `split`
<%page args="wg_size, run, masked, counted"/>
<%namespace name="candidates" file="candidates.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="border_sums" file="border_sums.cl.mako"/>
${group.exclusive_scans("group_scan", "i64", wg_size, 2)}
${candidates.group_best(wg_size)}
${border_sums.functions(wg_size)}
#define NO_KEY 0xFFFFFFFFu
#define MOST_GAIN 1.2980742e33f /* 2^110: the sum of 2^16 of them is finite */

${border_sums.add_up(wg_size, False)}
/* A gain in real units. */
FN df real_gain(const df gain, const i32 power) {
    const f32 hi = finite(scale_by(gain.hi, power)), lo = not_tiny(scale_by(gain.lo, power));
    if (hi > MOST_GAIN) return df_make(MOST_GAIN, 0.0f);
    if (hi < -MOST_GAIN) return df_make(-MOST_GAIN, 0.0f);
    return df_make(hi, lo);
}

KERNEL(${wg_size}) find(
        const u32 depth, const u32 n_outputs, const u32 width, const u32 n_features, const u32 n_codes,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight,
        GLOBAL const u32* RESTRICT allowed, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const i64x2* RESTRICT node_sums,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const i64* RESTRICT pool,
        GLOBAL candidate_t* RESTRICT candidates) {
${candidates.best_arrays(wg_size)}\
    const u32 feature = GROUP_ID, offset = feature_offset[feature], n_bins = feature_bins[feature];
    const u32 directions = feature_offset[feature + 1] - offset > n_bins ? 2 : 1;
    const u32 first = levels[depth].first, n_own = levels[depth].count / n_outputs; /* nodes of an output */
    const u32 n_places = n_own / width;
    for (u32 place = GROUP_ID_Y; place < n_places; place += N_GROUPS_Y) {
% if masked:
        const u32 word = allowed[(u64)place * width * ((n_features + 31) / 32) + feature / 32];
        const u32 n_borders = (word >> feature % 32) & 1 ? n_bins * directions : 0;
% else:
        const u32 n_borders = n_bins * directions;
        (void)allowed;
% endif
        df top = df_make(NO_SCORE, 0.0f);
        u32 key = NO_KEY;
        IN_ORDER
        for (u32 begin = LOCAL_ID; begin < n_borders; begin += ${wg_size * run}) {
% for r in range(run):
            const u32 at_${r} = begin + ${r * wg_size};
            const u32 direction_${r} = at_${r} >= n_bins, bin_${r} = at_${r} - direction_${r} * n_bins;
            df sum_${r} = df_make(0.0f, 0.0f);
% endfor
            IN_ORDER
            for (u32 i = 0; i < n_outputs * width; i++) {
                const u32 id = first + i / width * n_own + place * width + i % width;
                const i64x2 sums = node_sums[id];
                if (sums.y <= 0) continue;
                GLOBAL const scale_t* own_scale = scale + nodes[id].tree;
                const rule_t rule = make_rule(own_scale, reg_lambda, reg_alpha, max_delta_step);
                const least_t least = least_child(min_child_weight, own_scale);
                const df before = df_neg(score(sums.x, sums.y, rule));
                GLOBAL const i64* cells = pool + 2 * ((u64)nodes[id].slot * n_codes + offset);
% for r in range(run):
                if (at_${r} < n_borders) {
                    const i64 g = cells[2 * bin_${r}] + (direction_${r} ? cells[2 * n_bins] : 0);
                    const i64 h = cells[2 * bin_${r} + 1] + (direction_${r} ? cells[2 * n_bins + 1] : 0);
                    if (!is_idle(sums.x, sums.y, g, h, least)) {
                        const df both = df_add(score(g, h, rule), score(sums.x - g, sums.y - h, rule));
                        sum_${r} = df_add(sum_${r}, real_gain(df_add(both, before), rule.gain_power));
                    }
                }
% endfor
            }
% for r in range(run):
            if (at_${r} < n_borders && ahead(sum_${r}, 2 * bin_${r} + direction_${r}, top, key)) {
                top = sum_${r};
                key = 2 * bin_${r} + direction_${r};
            }
% endfor
        }
% if wg_size > 1:
        group_best(&top, &key, best_hi, best_lo, best_key);
% endif
        if (LOCAL_ID == 0) {
            GLOBAL candidate_t* out = &candidates[(u64)place * n_features + feature];
            out->left_g = out->left_h = 0;
            out->score_hi = top.hi;
            out->score_lo = top.lo;
            out->feature = feature;
            out->bin_direction = key;
        }
    }
}

/* The split of a node's place: `chosen` has the node's own sums and gain, or no score. */
KERNEL(${wg_size}) share(
        const u32 depth, const u32 n_outputs, const u32 width, const u32 n_features, const u32 n_codes, const f32 gamma,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const i64x2* RESTRICT node_sums, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL const i64* RESTRICT pool, GLOBAL const candidate_t* RESTRICT candidates,
        GLOBAL candidate_t* RESTRICT chosen) {
    const u32 first = levels[depth].first, count = levels[depth].count, n_own = count / n_outputs;
    for (u32 index = GROUP_ID * ${wg_size} + LOCAL_ID; index < count; index += N_GROUPS * ${wg_size}) {
        GLOBAL const node_t* node = &nodes[first + index];
        GLOBAL const candidate_t* best = candidates + (u64)(index % n_own / width) * n_features;
        best += best_of(best, n_features);
        candidate_t own;
        own.left_g = own.left_h = 0;
        own.score_hi = best->score_hi > 1e-6f && best->score_hi >= gamma ? 0.0f : NO_SCORE;
        own.score_lo = 0.0f;
        own.feature = best->feature;
        own.bin_direction = best->bin_direction;
        const i64x2 sums = node_sums[first + index];
        if (own.score_hi > NO_SCORE && sums.y > 0) {
            GLOBAL const scale_t* own_scale = scale + node->tree;
            const rule_t rule = make_rule(own_scale, reg_lambda, reg_alpha, max_delta_step);
            GLOBAL const i64* cells = pool + 2 * ((u64)node->slot * n_codes + feature_offset[own.feature]);
            const u32 bin = own.bin_direction >> 1, missing = feature_bins[own.feature];
            own.left_g = cells[2 * bin] + (own.bin_direction & 1 ? cells[2 * missing] : 0);
            own.left_h = cells[2 * bin + 1] + (own.bin_direction & 1 ? cells[2 * missing + 1] : 0);
            const df gained = gain_in_node(own.left_g, own.left_h, sums.x, sums.y,
                                           least_child(min_child_weight, own_scale), rule, rule);
            own.score_hi = gained.hi;
            own.score_lo = gained.lo;
        }
        chosen[index] = own;
    }
}
