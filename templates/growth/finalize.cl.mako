## finalize: set leaf values and make the tree's walking forms when all its nodes exist
## uses: portable_math structs gain
## uses if not counted: children
## uses if counted: counted_children
## uses if smooth: smoothing
## uses: tasks decision tables
##
##   finish_tree  sets the last level's leaves, leaf tasks, and the trees in the forms that `predict` and `leaf`
##                walk; a work-group takes some nodes, and counts the leaf tasks of those before
##   keep         copies the trees to the buffer from which the host reads them; there each field is an
##                array
##
## params: wg_size; leaf_chunk, rows of a leaf task; tables, nodes of a level share a split;
##         n_exponents as in `gradients`; counted, smooth as in `split`
<%page args="wg_size, leaf_chunk, tables, n_exponents, counted, smooth"/>
<%  # what `keep` writes of a node, in the order of dtypes.KEPT
    kept = [f"(u32)nodes[id].{name}" for name in (
        "tree", "parent", "left", "feature", "bin", "default_left", "split_kind", "count", "sibling_slot")]
    kept += [f"as_u32({number})" for number in (
        "nodes[id].gain", "node_weights[id]", "node_values[id]",
        "real_hessian(node_sums[id].y, scale + nodes[id].tree)")]
%>
<%namespace name="payload" file="payload.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
${group.exclusive_scan("group_scan", "u32", wg_size)}

/* Set the learning rate for the next rounds; kernels that set leaf values read it. */
BRIEF
KERNEL(${wg_size}) set_leaf_rate(const f32 rate, GLOBAL f32* RESTRICT leaf_rate) {
    if (LOCAL_ID == 0) leaf_rate[0] = rate;
}

/* Tasks of a node that keeps its rows. It does if it is a leaf above the last level; on the level above the last
   one it does whether it splits or not, as the last level's leaves need no lists of their own. Where the policy
   moves the rows of the last step, too, `depth` is beyond all levels. */
FN u32 own_tasks(GLOBAL const node_t* nodes, const u32 id, const int leaf, const u32 depth) {
    const int keeps = nodes[id].depth < depth && (leaf || nodes[id].depth + 1 == depth);
    return keeps ? tasks_of(nodes[id].count, ${leaf_chunk}) : 0;
}

/* Nodes of the last level, from `last` on, are leaves; other groups may be about to write it down. */
BRIEF
KERNEL(${wg_size}) finish_tree(
        const u32 level, const u32 depth, const u32 n_trees, const u32 n_lists, const u32 features_per_block, const u32 block,
        const u32 most_kept, const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step,
        const f32 min_child_weight,${" const f32 path_smooth," if smooth else ""}
        GLOBAL const f32* RESTRICT leaf_rate, GLOBAL const level_t* RESTRICT levels, GLOBAL node_t* nodes,
        ${payload.parameters()}, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL const f32* RESTRICT thresholds, GLOBAL u32* RESTRICT leaf_task_begin,
        GLOBAL u32* RESTRICT leaf_header, GLOBAL walk_t* RESTRICT walk,
        GLOBAL step_t* RESTRICT steps, GLOBAL u32* RESTRICT exponents,
        GLOBAL u32* RESTRICT drawn) {
${payload.read()}\
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u32 last = levels[level].first, n_nodes = last + levels[level].count;
    const u32 begin = (u32)((u64)n_nodes * GROUP_ID / N_GROUPS);
    const u32 end = (u32)((u64)n_nodes * (GROUP_ID + 1) / N_GROUPS);
    const u32 me = GROUP_ID * ${wg_size} + LOCAL_ID, step = N_GROUPS * ${wg_size};
    for (u32 i = me; i < ${n_exponents} * n_trees; i += step) exponents[i] = 0; /* for the next batch */
    for (u32 i = me; i < n_lists; i += step) drawn[i] = 0;
    for (u32 id = (begin < last ? last : begin) + LOCAL_ID; id < end; id += ${wg_size}) {
        GLOBAL const scale_t* own_scale = scale + nodes[id].tree;
        const rule_t rule = node_rule(own_scale, reg_lambda, reg_alpha, max_delta_step, node_bounds[id]);
% if tables:
        finish_table_node(nodes, payload, id, rule, leaf_rate[0], least_child(min_child_weight, own_scale));
% else:
        (void)min_child_weight;
% if smooth:
        const smoothing_t below =
            smoothing_below(path_smooth, own_scale, &nodes[id], payload.sums[id], payload.weights, rule);
        finish_smoothed(nodes, payload, id, payload.sums[id], rule, below, leaf_rate[0]);
% else:
        finish_node(nodes, payload, id, payload.sums[id], rule, leaf_rate[0]);
% endif
% endif
    }
    BARRIER();
    u32 n_tasks = 0, more = 0;
    for (u32 id = LOCAL_ID; id < begin; id += ${wg_size})
        more += own_tasks(nodes, id, id >= last || nodes[id].left == NO_NODE, depth);
    if (begin) group_scan(more, shared, &n_tasks);
    for (u32 base = begin; base < end; base += ${wg_size}) {
        const u32 id = base + LOCAL_ID;
        const int leaf = id < end && (id >= last || nodes[id].left == NO_NODE);
        const u32 tasks = id < end ? own_tasks(nodes, id, leaf, depth) : 0;
        const u32 task = n_tasks + group_scan(tasks, shared, &more);
        n_tasks += more;
        if (id >= end) continue;
        leaf_task_begin[id] = task;
        const u32 feature = nodes[id].feature, bin = nodes[id].bin;
        const u32 left = leaf ? 0 : nodes[id].left, default_left = nodes[id].default_left;
        walk[id].left = leaf ? 0 : left - nodes[id].tree; /* relative to the root */
        walk[id].feature = feature;
        walk[id].default_left = default_left;
        const f32 value = node_values[id]; /* by itself: as in `cuts` of quantize, a choice of two reads may be stale */
        walk[id].number = leaf ? value : thresholds[feature_offset[feature] + bin];
        steps[id].left = walk[id].left;
        steps[id].place = feature / features_per_block * block + feature % features_per_block;
        steps[id].lefts = packed_split(code_split(bin, default_left, feature_bins[feature]));
        steps[id].value = value;
    }
    if (GROUP_ID == N_GROUPS - 1 && LOCAL_ID == 0) {
        leaf_task_begin[n_nodes] = n_tasks;
        leaf_header[0] = n_nodes;
        leaf_header[1] = n_tasks;
        leaf_header[2] = leaf_header[2] + 1 < most_kept ? leaf_header[2] + 1 : 0;
        leaf_header[3]++; /* batches so far; random numbers depend on it */
    }
}

/* Copy a finished batch to the next place of the buffer that the host reads. */
BRIEF
KERNEL(${wg_size}) keep(
        const u32 most_nodes, const u32 level_words, GLOBAL const u32* RESTRICT leaf_header,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const i64x2* RESTRICT node_sums,
        GLOBAL const f32* RESTRICT node_weights, GLOBAL const f32* RESTRICT node_values,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT levels,
        GLOBAL u32* RESTRICT forest_nodes, GLOBAL u32* RESTRICT forest_levels) {
    const u32 n_nodes = leaf_header[0], place = leaf_header[2];
    GLOBAL u32* tree = forest_nodes + (u64)place * ${len(kept)} * most_nodes;
    for (u32 id = GROUP_ID * ${wg_size} + LOCAL_ID; id < n_nodes; id += N_GROUPS * ${wg_size}) {
% for word in kept:
        tree[${loop.index} * (u64)most_nodes + id] = ${word};
% endfor
    }
    if (GROUP_ID == 0) {
        for (u32 i = LOCAL_ID; i < level_words; i += ${wg_size})
            forest_levels[(u64)place * level_words + i] = levels[i];
    }
}
