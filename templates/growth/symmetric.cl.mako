## symmetric: the split of a level that all its nodes share: the one with the highest sum of gains
## uses: portable_math structs gain growth tables
##
##   histogram   |a b c d|missing|   of a node and feature      add_up    |a|a+b|a+b+c|all|missing|
##
##   gains       node 0   |. . . .|     every border of a feature in every node
##               node 1   |. . . .|
##               sum      |s s s s|     in order of nodes; the best border of each feature stays
##
##   add_up   sums up to every border, in place; of two siblings, one is parent minus sibling
##   find     one work-group a (feature, tree): sums of gains, and the best border
##   share    the best feature of a tree, if it gains enough; what its split gives to every node
##
##   Order of splits: score, then lowest feature, then lowest bin, then missing to the right. Trees of a
##   batch that still grow have 2^depth nodes each, one after the other.
##
## params: wg_size; run, borders of a work-item at a time (with one work-item a group);
##         monotone, features have constraints; masked, trees have features of their own
<%page args="wg_size, run, monotone, masked"/>
<%
    order = " && keeps_level_order(&level, begin + k, direction)" if monotone else ""
%>
<%namespace name="candidates" file="candidates.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
${group.exclusive_scans("group_scan", "i64", wg_size, 2)}
${candidates.group_best(wg_size)}
#define NO_KEY 0xFFFFFFFFu
#define RUN ${run if wg_size == 1 else 1}

/* Cells of a node's feature: the bins' sums become sums up to each border. The fullest code's sums may
   be missing: they are what the others leave of the node's. `other` are the parent's cells, and become
   the sibling's. */
FN void add_up_node(GLOBAL i64* cells, GLOBAL i64* other, const int subtract, const u32 n_codes,
                    const u32 n_bins, const u32 full, GLOBAL const node_t* node, LOCAL i64* shared) {
    const u32 size = (n_codes + ${wg_size - 1}) / ${wg_size};
    const u32 begin = LOCAL_ID * size < n_codes ? LOCAL_ID * size : n_codes;
    const u32 end = begin + size < n_codes ? begin + size : n_codes;
    i64 g = 0, h = 0, all_g, all_h;
    for (u32 code = begin; code < end; code++) {
        g += code == full ? 0 : cells[2 * code];
        h += code == full ? 0 : cells[2 * code + 1];
    }
    group_scan(g, h, shared, &g, &all_g, &h, &all_h);
    const i64 full_g = node->sum_g - all_g, full_h = node->sum_h - all_h;
    if (begin > full) {
        g += full_g;
        h += full_h;
    }
    for (u32 code = begin; code < end; code++) {
        const i64 own_g = code == full ? full_g : cells[2 * code];
        const i64 own_h = code == full ? full_h : cells[2 * code + 1];
        g += own_g;
        h += own_h;
        cells[2 * code] = code == n_bins ? own_g : g;
        cells[2 * code + 1] = code == n_bins ? own_h : h;
        if (subtract) {
            other[2 * code] -= cells[2 * code];
            other[2 * code + 1] -= cells[2 * code + 1];
        }
    }
}

/* A work-group for a feature of two siblings, or of a root. Nodes without weight are never read. */
KERNEL(${wg_size}) add_up(
        const u32 depth, const u32 n_codes, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const u32* RESTRICT fullest, GLOBAL i64* pool) {
    LOCAL_ARRAY(i64, shared, ${2 * wg_size});
    const u32 feature = GROUP_ID, offset = feature_offset[feature], each = depth ? 2 : 1;
    const u32 n_own = feature_offset[feature + 1] - offset;
    for (u32 pair = GROUP_ID_Y; pair < levels[depth].count / each; pair += N_GROUPS_Y) {
        const u32 left = levels[depth].first + each * pair;
        const u32 built = depth && nodes[left].sibling_slot >= 0 ? left + 1 : left;
        const u32 other = depth ? 2 * left + 1 - built : built;
        add_up_node(pool + 2 * ((u64)nodes[built].slot * n_codes + offset),
                    pool + 2 * ((u64)nodes[other].slot * n_codes + offset), depth > 0,
                    nodes[built].sum_h > 0 ? n_own : 0, feature_bins[feature], fullest[feature],
                    &nodes[built], shared);
    }
}

/* The scores of a level's nodes before they split, which all features need. */
KERNEL(${wg_size}) score_nodes(
        const u32 depth, const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL f32* RESTRICT own_scores) {
    const u32 first = levels[depth].first, count = levels[depth].count;
    for (u32 index = GROUP_ID * ${wg_size} + LOCAL_ID; index < count; index += N_GROUPS * ${wg_size}) {
        GLOBAL const node_t* node = &nodes[first + index];
        const rule_t rule = make_rule(scale + node->tree, reg_lambda, reg_alpha, max_delta_step);
        const df own = score(node->sum_g, node->sum_h, within(rule, node->lower, node->upper));
        own_scores[2 * index] = own.hi;
        own_scores[2 * index + 1] = own.lo;
    }
}

/* A level of one tree, and the borders of one of its features. */
typedef struct {
    GLOBAL const node_t* nodes;
    GLOBAL const f32* own_scores;
    u32 n_nodes;
    GLOBAL const i64* pool;     /* the feature's cells in slot 0 */
    u64 slot_cells;
    u32 n_bins;
    i64 least;
    rule_t rule;
    u32 constraint;
} level_borders_t;

/* Add what `n` borders gain in one node to their sums; the missing rows are on the left if `direction`. */
FN void add_gains(const level_borders_t* level, const u32 i, const u32 first_bin, const u32 n,
                  const u32 direction, f32* hi, f32* lo) {
    GLOBAL const node_t* node = &level->nodes[i];
    const i64 node_g = node->sum_g, node_h = node->sum_h, least = level->least;
    if (node_h <= 0) return;
    GLOBAL const i64* cells = level->pool + (i64)node->slot * level->slot_cells;
    const i64 more_g = direction ? cells[2 * level->n_bins] : 0;
    const i64 more_h = direction ? cells[2 * level->n_bins + 1] : 0;
    const df own = df_make(level->own_scores[2 * i], level->own_scores[2 * i + 1]);
% if monotone:
    const rule_t rule = within(level->rule, node->lower, node->upper);
% else:
    const rule_t rule = level->rule;
% endif
    cells += 2 * first_bin;
    for (u32 k = 0; k < n; k++) {
        const i64 g = cells[2 * k] + more_g, h = cells[2 * k + 1] + more_h;
        const df gain = gain_in_node(g, h, node_g, node_h, least, own, rule);
        const df sum = df_add(df_make(hi[k], lo[k]), gain);
        hi[k] = sum.hi;
        lo[k] = sum.lo;
    }
}

% if monotone:
/* Whether no node has its children in the wrong order. */
FN int keeps_level_order(const level_borders_t* level, const u32 bin, const u32 direction) {
    if (level->constraint == 0) return 1;
    for (u32 i = 0; i < level->n_nodes; i++) {
        GLOBAL const node_t* node = &level->nodes[i];
        if (node->sum_h <= 0) continue;
        GLOBAL const i64* cells = level->pool + (i64)node->slot * level->slot_cells;
        const i64 g = cells[2 * bin] + (direction ? cells[2 * level->n_bins] : 0);
        const i64 h = cells[2 * bin + 1] + (direction ? cells[2 * level->n_bins + 1] : 0);
        const rule_t rule = within(level->rule, node->lower, node->upper);
        if (breaks_order(level->constraint, g, h, node->sum_g, node->sum_h, level->least, rule)) return 0;
    }
    return 1;
}

% endif
KERNEL(${wg_size}) find(
        const u32 depth, const u32 n_features, const u32 n_codes, const f32 reg_lambda,
        const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight,
        GLOBAL const u32* RESTRICT constraints, GLOBAL const u32* RESTRICT allowed,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const f32* RESTRICT own_scores,
        GLOBAL const i64* RESTRICT pool, GLOBAL candidate_t* RESTRICT candidates) {
% if wg_size > 1:
    LOCAL_ARRAY(f32, best_hi, ${wg_size});
    LOCAL_ARRAY(f32, best_lo, ${wg_size});
    LOCAL_ARRAY(u32, best_key, ${wg_size});
% endif
    const u32 feature = GROUP_ID, offset = feature_offset[feature];
    level_borders_t level;
    level.n_nodes = 1u << depth;
    level.n_bins = feature_bins[feature];
    level.pool = pool + 2 * (u64)offset;
    level.slot_cells = 2 * (u64)n_codes;
    level.constraint = ${"constraints[feature]" if monotone else "0"};
    const u32 directions = feature_offset[feature + 1] - offset > level.n_bins ? 2 : 1;
    (void)constraints; (void)allowed;
    for (u32 tree = GROUP_ID_Y; tree < levels[depth].count >> depth; tree += N_GROUPS_Y) {
        level.nodes = nodes + levels[depth].first + ((u64)tree << depth);
        level.own_scores = own_scores + ((u64)tree << (depth + 1));
        GLOBAL const scale_t* own_scale = scale + level.nodes[0].tree;
        level.rule = make_rule(own_scale, reg_lambda, reg_alpha, max_delta_step);
        level.least = least_hessian(min_child_weight, own_scale);
        u32 n_bins = level.n_bins;
% if masked:
        const u32 n_words = (n_features + 31) / 32;
        if (!((allowed[((u64)tree << depth) * n_words + feature / 32] >> feature % 32) & 1)) n_bins = 0;
% endif
        df top = df_make(NO_SCORE, 0.0f);
        u32 key = NO_KEY;
        for (u32 begin = LOCAL_ID * RUN; begin < n_bins; begin += RUN * ${wg_size}) {
            const u32 n = n_bins - begin < RUN ? n_bins - begin : RUN;
            for (u32 direction = 0; direction < directions; direction++) {
                f32 hi[RUN], lo[RUN];
                for (u32 k = 0; k < RUN; k++) hi[k] = lo[k] = 0.0f;
                for (u32 i = 0; i < level.n_nodes; i++) add_gains(&level, i, begin, n, direction, hi, lo);
                for (u32 k = 0; k < n; k++) {
                    const df sum = df_make(hi[k], lo[k]);
                    const u32 at = 2 * (begin + k) + direction;
                    if (ahead(sum, at, top, key)${order}) {
                        top = sum;
                        key = at;
                    }
                }
            }
        }
% if wg_size > 1:
        group_best(&top, &key, best_hi, best_lo, best_key);
% endif
        if (LOCAL_ID == 0) {
            GLOBAL candidate_t* out = &candidates[(u64)tree * n_features + feature];
            out->left_g = out->left_h = 0;
            out->score_hi = top.hi;
            out->score_lo = top.lo;
            out->feature = feature;
            out->bin_direction = key;
        }
    }
}

/* The split of a node's tree: `chosen` has the node's own sums and gain, or no score. */
KERNEL(${wg_size}) share(
        const u32 depth, const u32 n_features, const u32 n_codes, const f32 gamma, const f32 reg_lambda,
        const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const f32* RESTRICT own_scores,
        GLOBAL const i64* RESTRICT pool, GLOBAL const candidate_t* RESTRICT candidates,
        GLOBAL candidate_t* RESTRICT chosen) {
    const u32 first = levels[depth].first, count = levels[depth].count;
    for (u32 index = GROUP_ID * ${wg_size} + LOCAL_ID; index < count; index += N_GROUPS * ${wg_size}) {
        GLOBAL const node_t* node = &nodes[first + index];
        GLOBAL const scale_t* own_scale = scale + node->tree;
        const rule_t unbounded = make_rule(own_scale, reg_lambda, reg_alpha, max_delta_step);
        const rule_t rule = within(unbounded, node->lower, node->upper);
        GLOBAL const candidate_t* best = candidates + (u64)(index >> depth) * n_features;
        best += best_of(best, n_features);
        const f32 gain = best->score_hi > NO_SCORE ? finite(scale_by(best->score_hi, rule.gain_power)) : 0.0f;
        candidate_t own;
        own.left_g = own.left_h = 0;
        own.score_hi = gain > 1e-6f && gain >= gamma ? 0.0f : NO_SCORE;
        own.score_lo = 0.0f;
        own.feature = best->feature;
        own.bin_direction = best->bin_direction;
        if (own.score_hi > NO_SCORE && node->sum_h > 0) {
            const u32 offset = feature_offset[own.feature], bin = own.bin_direction >> 1;
            GLOBAL const i64* cells = pool + 2 * ((u64)node->slot * n_codes + offset);
            own.left_g = cells[2 * bin];
            own.left_h = cells[2 * bin + 1];
            if (own.bin_direction & 1) {
                own.left_g += cells[2 * feature_bins[own.feature]];
                own.left_h += cells[2 * feature_bins[own.feature] + 1];
            }
            const df before = df_make(own_scores[2 * index], own_scores[2 * index + 1]);
            const df gained = gain_in_node(own.left_g, own.left_h, node->sum_g, node->sum_h,
                                           least_hessian(min_child_weight, own_scale), before, rule);
            own.score_hi = gained.hi;
            own.score_lo = gained.lo;
        }
        chosen[index] = own;
    }
}
