## best_first: best-first growth: the open leaf of every tree with the highest rank, and its split
## uses: portable_math structs gain growth tasks
## uses if not counted: children
## uses if counted: counted_children
## uses if smooth: smoothing
## uses if tables: tables
##
##   open   |a|b|c|d|.|.|    leaves of a tree: step s begins with s + 1 of them
##              ^            the one of the highest rank splits; its left child takes its place,
##   open   |a|l|c|d|r|.|    the right one comes behind all
##
##   pick           the new leaves come to `open`; the open leaf of the highest rank
##   decide_picked  this one splits: ids of the children; row tasks
##
##   Trees of `n_alike` outputs that split alike have the same entries in `open`, and pick the same one, as a leaf's
##   gain is that of its place, the sum over the outputs (`place_gain`).
##
## params: wg_size; row_chunk, rows in a task; rank, of a leaf whose split gains `gain`: an expression
##         of `gain` and `node`; tables, trees split alike; counted, smooth as in `split`
<%page args="wg_size, row_chunk, rank, tables, counted, smooth"/>
<%namespace name="payload" file="payload.cl.mako"/>
<%namespace name="picked_nodes" file="picked_nodes.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
${group.exclusive_scan("group_scan", "u32", wg_size)}

${picked_nodes.rank_of(rank)}

/* The entry of the leaf of the highest rank among those of the work-items, the first of equal ones; or NO_NODE. */
FN u32 first_of_best(GLOBAL const u32* leaves, LOCAL const f32* ranks, LOCAL const u32* at) {
    f32 most = ranks[0];
    u32 best = at[0];
    for (u32 i = 1; i < ${wg_size}; i++) {
        if (at[i] == NO_NODE) continue;
        const int ahead_of = best == NO_NODE || ranks[i] > most || (ranks[i] == most && leaves[at[i]] < leaves[best]);
        if (!ahead_of) continue;
        most = ranks[i];
        best = at[i];
    }
    return best;
}

/* One work-group a tree. `open` has its leaves, with what their splits gain. Those of the level
   come to it; of those that may split, the highest rank is picked, the first of equal ones. */
KERNEL(${wg_size}) pick(
        const u32 step, const u32 n_each, const u32 most_leaves,
        const u32 max_depth, const f32 gamma, const f32 reg_lambda,
        const f32 reg_alpha, const f32 max_delta_step, ${"const f32 path_smooth, " if smooth else ""}
% if tables:
        const f32 min_child_weight, GLOBAL const f32* RESTRICT place_gain,
% endif
        GLOBAL const f32* RESTRICT leaf_rate,
        GLOBAL const level_t* RESTRICT levels, GLOBAL node_t* nodes, ${payload.parameters()},
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const candidate_t* RESTRICT chosen,
        GLOBAL candidate_t* RESTRICT kept, GLOBAL u32* open, GLOBAL f32* open_gain,
        GLOBAL u32* open_at, GLOBAL u32* picked) {
${payload.read()}\
    LOCAL_ARRAY(f32, ranks, ${wg_size});
    LOCAL_ARRAY(u32, at, ${wg_size});
    const u32 tree = GROUP_ID;
    const u32 first = levels[step].first, count = levels[step].count;
    GLOBAL u32* leaves = open + tree * most_leaves;
    GLOBAL f32* leaf_gains = open_gain + tree * most_leaves;
    const rule_t unbounded = make_rule(scale + tree, reg_lambda, reg_alpha, max_delta_step);
    const u32 before = open_at[tree]; /* entry of the leaf that split last */
    if (LOCAL_ID == 0) {
        u32 side = 0;
        for (u32 id = first; id < first + count; id++) {
            if (nodes[id].tree != tree) continue;
            const rule_t rule = within(unbounded, node_bounds[id]);
% if smooth:
            const smoothing_t below =
                smoothing_below(path_smooth, scale + tree, &nodes[id], node_sums[id], node_weights, rule);
            finish_smoothed(nodes, payload, id, node_sums[id], rule, below, leaf_rate[0]);
% elif tables:
            finish_table_node(nodes, payload, id, rule, leaf_rate[0], least_child(min_child_weight, scale + tree));
% else:
            finish_node(nodes, payload, id, node_sums[id], rule, leaf_rate[0]);
% endif
            GLOBAL const candidate_t* c = chosen + (u64)(id - first) * n_each;
            c += best_of(c, n_each);
            /* the left child takes its parent's entry */
            const u32 place = step == 0 ? 0 : (side == 0 ? before : step);
            leaves[place] = id;
% if tables:
            (void)gamma; /* the search has compared the place's gain with it */
            leaf_gains[place] = nodes[id].depth < max_depth ? place_gain[id - first] : -1.0f;
% else:
            leaf_gains[place] = ${"smoothed_leaf_gain(c, nodes[id].depth, node_sums[id], rule, below, max_depth, gamma)" if smooth else "leaf_gain(c, nodes[id].depth, node_sums[id], rule, max_depth, gamma)"};
% endif
            kept[id] = *c;
            side++;
        }
        if (step > 0 && side == 0) { /* this tree is complete */
            leaves[step] = NO_NODE;
            leaf_gains[step] = -1.0f;
        }
    }
    BARRIER();
    f32 most = 0.0f;
    u32 mine = NO_NODE;
    for (u32 i = LOCAL_ID; i <= step; i += ${wg_size}) {
        if (!(leaf_gains[i] > 0.0f)) continue; /* it stays a leaf */
        const f32 rank = rank_of(&nodes[leaves[i]], leaf_gains[i]);
        if (mine == NO_NODE || rank > most || (rank == most && leaves[i] < leaves[mine])) {
            most = rank;
            mine = i;
        }
    }
    ranks[LOCAL_ID] = most;
    at[LOCAL_ID] = mine;
    BARRIER();
    if (LOCAL_ID == 0) {
        mine = first_of_best(leaves, ranks, at);
        open_at[tree] = mine;
        picked[tree] = mine == NO_NODE ? NO_NODE : leaves[mine];
    }
}

% if tables:
/* What a split gains in a tree of its own. */
FN f32 gain_in_tree(GLOBAL const candidate_t* split, GLOBAL const scale_t* scale) {
    return finite(scale_by(split->score_hi, make_rule(scale, 0.0f, 0.0f, 0.0f).gain_power));
}

% endif
/* Split the picked leaf of every tree that has one. */
KERNEL(${wg_size}) decide_picked(
        const u32 step, const u32 n_trees, const u32 n_alike, const u32 most_leaves, const f32 reg_lambda,
        const f32 reg_alpha, const f32 max_delta_step, ${"const f32 min_child_weight, " if tables else ""}const u32 has_monotone,
        GLOBAL const u32* RESTRICT monotone, GLOBAL level_t* RESTRICT levels, GLOBAL node_t* nodes,
        ${payload.parameters()}, GLOBAL const scale_t* RESTRICT scale, GLOBAL const candidate_t* RESTRICT kept,
        GLOBAL const f32* RESTRICT open_gain, GLOBAL const u32* RESTRICT open_at,
        GLOBAL const u32* RESTRICT picked,
        GLOBAL u32* RESTRICT row_task_begin, GLOBAL u32* RESTRICT child_rows) {
${payload.read()}\
<% gain = "gain_in_tree(&kept[id], scale + nodes[id].tree)" if tables else "open_gain[index * most_leaves + open_at[index]]" %>\
${picked_nodes.split_picks(wg_size, row_chunk, "n_trees", "n_picks / n_alike", gain)}\
% if tables:
    for (u32 index = LOCAL_ID; index < (has_monotone ? n_picks : 0); index += ${wg_size}) {
        const u32 id = picked[index];
        if (id == NO_NODE) continue;
        GLOBAL const scale_t* own_scale = scale + nodes[id].tree;
        const rule_t rule = node_rule(own_scale, reg_lambda, reg_alpha, max_delta_step, node_bounds[id]);
        const least_t least = least_child(min_child_weight, own_scale);
        bound_idle_children(nodes, payload, id, rule, least, monotone[nodes[id].feature]);
    }
% endif
    if (LOCAL_ID == 0) {
        levels[step + 1].first = next_first;
        levels[step + 1].count = 2 * n_split;
        levels[step + 1].row_tasks = levels[step + 1].hist_tasks = 0;
    }
}
