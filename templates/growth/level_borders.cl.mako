## level_borders: a feature's borders in all nodes of a tree's level; `symmetric` and `whole_symmetric` import it
##
##   The cells of a node are those of `border_sums`. The importing template has `rough_scores`.
##
##   by_tree: masks and draws of a level lie by the numbers of trees, also where some have stopped growing; else
##            by the places of nodes and trees that grow

<%def name="borders(monotone, masked, categories, drawn, noisy=False, by_tree=False)">
<%
    mask_at, draws_at = ("(u64)level.nodes[0].tree",) * 2 if by_tree else ("((u64)tree << depth)", "(u64)tree")
    more = """
        const u32 n_cells, const f32 set_lambda, GLOBAL const u32x4* borders, GLOBAL const u32* border_flags,
        GLOBAL const i64* border_sums,""" if categories else ""
%>
/* A level of one tree, and the borders of one of its features. */
typedef struct {
    GLOBAL const node_t* nodes;
    GLOBAL const i64x2* sums;       /* of nodes */
% if monotone:
    GLOBAL const bounds_t* bounds;  /* of nodes */
% endif
    GLOBAL const i64* pool;     /* the feature's cells in slot 0 */
    u64 slot_cells;
    u32 n_nodes;
    u32 n_bins;
    u32 n_searched;             /* n_bins, or 0 if the tree may not split on the feature */
    u32 directions;             /* 2 if values are missing */
    u32 constraint;
% if drawn:
    u32 only;                   /* the border that may be a split */
% endif
% if noisy:
    u32 bits;                   /* of the feature, for noise in its borders' scores */
    f32 noise;
% endif
    least_t least;
    rule_t rule;
% if categories:
    rule_t sides;                   /* with cat_l2 */
    GLOBAL const u32* flags;        /* of borders between levels, see `symmetric_sets` */
    u32 by_set;
% endif
} level_borders_t;

FN level_borders_t borders_of(${more}
% if drawn or noisy:
        GLOBAL const u32* draws,
% endif
% if noisy:
        GLOBAL const f32* noise,
% endif
        const u32 depth, const u32 tree, const u32 feature, const u32 n_features, const u32 n_codes,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step,
        const f32 min_child_weight, GLOBAL const u32* constraints,
        ${"GLOBAL const u32* allowed, " if masked else ""}GLOBAL const level_t* levels, GLOBAL const node_t* nodes, GLOBAL const i64x2* node_sums,
        GLOBAL const bounds_t* node_bounds, GLOBAL const scale_t* scale,
        GLOBAL const u32* feature_offset, GLOBAL const u32* feature_bins, GLOBAL const i64* pool) {
    const u32 offset = feature_offset[feature];
    const u64 first = levels[depth].first + ((u64)tree << depth);
    level_borders_t level;
    level.nodes = nodes + first;
    level.sums = node_sums + first;
    level.pool = pool + 2 * (u64)offset;
    level.slot_cells = 2 * (u64)n_codes;
    level.n_nodes = 1u << depth;
    level.n_bins = level.n_searched = feature_bins[feature];
    level.directions = feature_offset[feature + 1] - offset > level.n_bins ? 2 : 1;
    GLOBAL const scale_t* own_scale = scale + level.nodes[0].tree;
    level.least = least_child(min_child_weight, own_scale);
    level.rule = make_rule(own_scale, reg_lambda, reg_alpha, max_delta_step);
% if categories:
    level.by_set = borders[feature].x;
    level.sides = level.rule;
    level.flags = border_flags;
    if (level.by_set) { /* the cells of borders are as those of a feature with missing values */
        level.flags += (u64)level.nodes[0].tree * n_cells + borders[feature].y;
        level.pool = border_sums + 2 * (u64)borders[feature].y;
        level.slot_cells = 2 * (u64)n_cells;
        level.n_bins = borders[feature].z;
        level.n_searched = level.flags[level.n_bins];
        level.directions = 2;
        if (level.by_set == 1) level.sides = make_rule(own_scale, set_lambda, reg_alpha, max_delta_step);
    }
% endif
% if noisy:
    level.bits = draws[${draws_at} * n_features + feature];
    level.noise = noise[level.nodes[0].tree];
% endif
% if drawn:
    const u32 n_borders = level.n_bins + level.directions - 2; /* behind the last bin are missing values alone */
    level.only = drawn_place(draws[${draws_at} * n_features + feature], ${
        "level.by_set ? level.n_searched : n_borders" if categories else "n_borders"});
% endif
% if monotone:
    level.constraint = constraints[feature];
    level.bounds = node_bounds + first;
% else:
    level.constraint = 0;
    (void)constraints; (void)node_bounds;
% endif
% if masked:
    const u32 n_words = (n_features + 31) / 32;
    const u32 word = allowed[${mask_at} * n_words + feature / 32];
    if (!((word >> feature % 32) & 1)) level.n_searched = 0;
% else:
    (void)n_features;
% endif
    return level;
}

FN rule_t rule_of(const level_borders_t* level, const u32 i) {
% if monotone:
    return within(level->rule, level->bounds[i]);
% else:
    (void)i;
    return level->rule;
% endif
}

% if categories:
/* The rule for the children of a node. */
FN rule_t sides_of(const level_borders_t* level, const u32 i) {
% if monotone:
    return within(level->sides, level->bounds[i]);
% else:
    (void)i;
    return level->sides;
% endif
}

/* Whether a tree may split at a border in a direction. */
FN int is_open(const level_borders_t* level, const u32 bin, const u32 direction) {
    return level->by_set ? (level->flags[bin] >> direction) & 1 : 1;
}

% endif
/* The first of a node's cells in `pool`. */
FN u64 first_cell(const level_borders_t* level, const u32 i) {
    return (u64)level->nodes[i].slot * level->slot_cells;
}

/* The sum over nodes, in their order, of what a border gains. */
FN df exact_gain(const level_borders_t* level, const u32 bin, const u32 direction) {
    df sum = df_make(0.0f, 0.0f);
    IN_ORDER
    for (u32 i = 0; i < level->n_nodes; i++) {
        const i64x2 sums = level->sums[i];
        if (sums.y <= 0) continue;
        GLOBAL const i64* cells = level->pool + first_cell(level, i);
        const i64 g = cells[2 * bin] + (direction ? cells[2 * level->n_bins] : 0);
        const i64 h = cells[2 * bin + 1] + (direction ? cells[2 * level->n_bins + 1] : 0);
        sum = df_add(sum, gain_in_node(g, h, sums.x, sums.y, level->least, rule_of(level, i),
                                       ${"sides_of" if categories else "rule_of"}(level, i)));
    }
    return sum;
}

% if noisy:
/* The sum over nodes, in their order, of their own scores. */
FN f32 own_scores(const level_borders_t* level) {
    df sum = df_make(0.0f, 0.0f);
    IN_ORDER
    for (u32 i = 0; i < level->n_nodes; i++) {
        const i64x2 sums = level->sums[i];
        if (sums.y > 0) sum = df_add(sum, score(sums.x, sums.y, rule_of(level, i)));
    }
    return sum.hi;
}

/* The index of the highest of n ranks, the first of equal ones. */
FN u32 highest_of(GLOBAL const f32* ranks, const u32 n) {
    u32 best = 0;
    for (u32 i = 1; i < n; i++) best = ranks[i] > ranks[best] ? i : best;
    return best;
}

% endif
% if monotone:
/* Whether no node has its children in the wrong order. */
FN int keeps_level_order(const level_borders_t* level, const u32 bin, const u32 direction) {
    int kept = 1;
    for (u32 i = 0; i < level->n_nodes && kept && level->constraint; i++) {
        const i64x2 sums = level->sums[i];
        GLOBAL const i64* cells = level->pool + first_cell(level, i);
        if (sums.y > 0) {
            const i64 g = cells[2 * bin] + (direction ? cells[2 * level->n_bins] : 0);
            const i64 h = cells[2 * bin + 1] + (direction ? cells[2 * level->n_bins + 1] : 0);
            kept = !breaks_order_in_node(level->constraint, g, h, sums.x, sums.y, level->least,
                                         rule_of(level, i));
        }
    }
    return kept;
}
% endif
</%def>
