## forced_splits: the best split of a node at the top of a tree is the one that is given
## uses: portable_math structs gain
##
##   splits   |0|1|2|..    (feature, last bin on the left, split above, side), breadth first, the same for all trees
##   nodes    |a|b|-|..    the node of each tree that has the split; NO_NODE: none has, so those below have none
##
##   force        one work-group a (split, tree): if its node is new, and the split gains enough, it becomes the first
##                of the node's candidates, with a score above all others
##   tell_gains   once a tree has grown: its forced splits get their own gains
##
##   A feature's fullest code may be missing from the histogram: the side without it is added up. Missing values go left.
##
## params: wg_size; monotone, features have constraints
<%page args="wg_size, monotone"/>
<%namespace name="group" file="group.cl.mako"/>
${group.sum("group_sum", "i64", wg_size)}

/* More than the score of any split, see the numbers of units in gain.h. */
#define FORCED_SCORE 8.507059173023462e37f /* 2^126 */

/* The node that has a split, if it is one of a step's new nodes; else NO_NODE. */
FN u32 node_of(const u32x4 split, const u32 tree, const u32 step, const level_t level,
               GLOBAL const node_t* nodes, GLOBAL const u32* forced_nodes) {
    if (split.z == NO_NODE) return step == 0 ? tree : NO_NODE;
    if (step == 0) return NO_NODE; /* what is listed above it is of another tree */
    const u32 above = forced_nodes[split.z];
    if (above >= level.first || nodes[above].left == NO_NODE) return NO_NODE;
    const u32 id = nodes[above].left + split.w;
    return id >= level.first && id < level.first + level.count ? id : NO_NODE;
}

KERNEL(${wg_size}) force(
        const u32 step, const u32 n_each, const u32 n_codes, const f32 gamma, const f32 reg_lambda,
        const f32 reg_alpha, const f32 max_delta_step, GLOBAL const u32x4* RESTRICT splits,
        GLOBAL const u32* RESTRICT constraints, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const i64x2* RESTRICT node_sums,
        GLOBAL const bounds_t* RESTRICT node_bounds, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL const u32* RESTRICT fullest, GLOBAL const i64x2* RESTRICT pool, GLOBAL u32* forced_nodes,
        GLOBAL f32* RESTRICT forced_gains, GLOBAL candidate_t* RESTRICT chosen) {
    LOCAL_ARRAY(i64, shared, ${wg_size});
    const u32 tree = GROUP_ID_Y, place = tree * N_GROUPS + GROUP_ID;
    const u32x4 split = splits[GROUP_ID];
    const level_t level = levels[step];
    const u32 id = node_of(split, tree, step, level, nodes, forced_nodes + tree * N_GROUPS);
    const u32 feature = split.x, bin = split.y, full = fullest[feature], n_bins = feature_bins[feature];
    const u32 offset = feature_offset[feature];
    const int full_left = full <= bin || full == n_bins; /* the code behind the bins is that of missing values */
    const u32 end = id == NO_NODE ? 0 : feature_offset[feature + 1] - offset;
    GLOBAL const i64x2* cells = pool + (id == NO_NODE ? 0 : (u64)(u32)nodes[id].slot * n_codes + offset);
    i64 g = 0, h = 0;
    for (u32 code = LOCAL_ID; code < end; code += ${wg_size}) {
        if ((code <= bin || code == n_bins) == full_left) continue;
        const i64x2 sum = cells[code];
        g += sum.x;
        h += sum.y;
    }
    g = group_sum(g, shared);
    h = group_sum(h, shared);
    if (LOCAL_ID != 0) return;
    if (step == 0) forced_nodes[place] = NO_NODE;
    if (id == NO_NODE) return;
    const i64x2 own = node_sums[id], some = MAKE_I64X2(g, h), rest = SUB_I64X2(own, some);
    const i64x2 left = full_left ? rest : some, right = full_left ? some : rest;
    if (!are_heavy(left.y, right.y, 1)) return;
    const rule_t rule = node_rule(scale + tree, reg_lambda, reg_alpha, max_delta_step, node_bounds[id]);
% if monotone:
    if (!keeps_order(constraints[feature], left.x, left.y, right.x, right.y, rule)) return;
% else:
    (void)constraints;
% endif
    const df both = df_add(score(left.x, left.y, rule), score(right.x, right.y, rule));
    const df loss = df_add(both, df_neg(score(own.x, own.y, rule)));
    const f32 gain = finite(scale_by(loss.hi, rule.gain_power));
    if (!(gain > 1e-6f && gain >= gamma)) return;
    forced_nodes[place] = id;
    forced_gains[place] = gain;
    GLOBAL candidate_t* best = &chosen[(u64)(id - level.first) * n_each];
    best->left_g = left.x;
    best->left_h = left.y;
    best->score_hi = FORCED_SCORE;
    best->score_lo = 0.0f;
    best->feature = feature;
    best->bin_direction = 2 * bin + 1;
}

KERNEL(${wg_size}) tell_gains(
        const u32 n_all, GLOBAL const u32* RESTRICT forced_nodes, GLOBAL const f32* RESTRICT forced_gains,
        GLOBAL node_t* RESTRICT nodes) {
    for (u32 place = GROUP_ID * ${wg_size} + LOCAL_ID; place < n_all; place += N_GROUPS * ${wg_size}) {
        const u32 id = forced_nodes[place];
        if (id != NO_NODE && nodes[id].left != NO_NODE) nodes[id].gain = forced_gains[place];
    }
}
