## column_search: as `exact`, with one work-item a group that walks whole columns; entries are never moved
## uses: portable_math structs tasks gain
## uses if not counted: children
## uses if counted: counted_children
## uses: entries
##
##   columns       |f0 ....|f1 ..|f2|f3 ........|      of all trees; their entries never move
##   tasks         |tree 0          |tree 1        |..  blocks of columns of a tree; see `column_walks`
##
##   begin_columns  where each column's entries begin
##   find           tasks are blocks of columns of a tree; a group has neighbouring tasks. Its best splits in
##                  tree t are in slot `group + t` of `found`, which no other pair of group and tree has
##   best           the best of a node's slots
##   follow_column  rows with a value of the split's feature go where its place does
##
##   A column is closed for a tree where no node has children of `min_child_weight`: below, none will.
##   The order of splits is that of `exact`.
##
## params: wg_size (1); chunk, entries of the columns that begin in a task; masked, nodes have features of
##         their own; clipped, weights are, by max_delta_step; counted as in `split`
<%page args="wg_size, chunk, masked, clipped, counted"/>
<%namespace name="candidates" file="candidates.cl.mako"/>
<%namespace name="walks" file="column_walks.cl.mako"/>
${candidates.consider(False)}
${walks.functions(masked, clipped)}

KERNEL(${wg_size}) begin_columns(
        const u32 n_entries, const u32 n_features, GLOBAL const u32* RESTRICT all_places,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL u32* RESTRICT column_begin) {
    for (u32 f = GROUP_ID; f <= n_features; f += N_GROUPS)
        column_begin[f] = first_place(all_places, n_entries, feature_offset[f]);
}

/* The first of a level's nodes whose tree is not below a tree; nodes lie in the order of trees. */
FN u32 first_of_tree(GLOBAL const node_t* nodes, const u32 count, const u32 tree) {
    u32 low = 0, high = count;
    while (low < high) {
        const u32 middle = low + (high - low) / 2;
        if (nodes[middle].tree < tree) low = middle + 1; else high = middle;
    }
    return low;
}

KERNEL(${wg_size}) find(
        const u32 step, const u32 n_rows, const u32 n_trees, const u32 n_features, const u32 n_entries,
        const u32 n_nodes, const u32 n_borders, const f32 reg_lambda, const f32 max_delta_step,
        const f32 min_child_weight, ${"GLOBAL const u32* RESTRICT allowed, " if masked else ""}
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const i64x2* RESTRICT node_sums, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT column_begin, GLOBAL const u32* RESTRICT all_rows,
        GLOBAL const u32* RESTRICT all_places, GLOBAL const i32x2* RESTRICT quanta, GLOBAL const i32x2* RESTRICT high,
        GLOBAL const u32* RESTRICT row_nodes, GLOBAL u8* RESTRICT closed_columns, GLOBAL u32* node_rough,
        GLOBAL candidate_t* RESTRICT found, GLOBAL i64* RESTRICT column_sums,
        GLOBAL u32* RESTRICT node_spots, GLOBAL i64* RESTRICT border_sums,
        GLOBAL u32* RESTRICT border_places) {
    const u32 group = GROUP_ID, first = levels[step].first, count = levels[step].count;
    const u32 n_blocks = (n_entries + ${chunk - 1}) / ${chunk}, n_tasks = n_trees * n_blocks;
    room_t room;
    room.sums = column_sums + (u64)group * 4 * n_nodes;
    room.spots = node_spots + (u64)group * 5 * n_nodes;
    room.seen = room.spots + 4 * n_nodes;
    room.border_g = border_sums + (u64)group * 2 * n_borders;
    room.border_h = room.border_g + n_borders;
    room.border_places = border_places + (u64)group * n_borders;
    tree_t tree;
    u32 current = NO_NODE;
    tree.count = 0;
    const u32 end_task = first_task(n_tasks, group + 1, N_GROUPS);
    for (u32 task = first_task(n_tasks, group, N_GROUPS); task < end_task; task++) {
        const u32 number = task / n_blocks, from = (task - number * n_blocks) * ${chunk};
        GLOBAL candidate_t* slot = found + (u64)(group + number) * n_nodes;
        if (number != current) {
            GLOBAL const scale_t* own = scale + number;
            current = number;
            tree.index = first_of_tree(nodes + first, count, number);
            tree.first = first + tree.index;
            tree.count = first_of_tree(nodes + first, count, number + 1) - tree.index;
            tree.sums = node_sums + tree.first;
            tree.is_root = step == 0;
            tree.wide = own->wide;
            tree.row_nodes = row_nodes + (u64)number * n_rows;
            tree.quanta = quanta + (u64)number * n_rows;
            tree.high = high + (u64)number * n_rows;
            read_tree(&tree.parent, own, reg_lambda, 0.0f, max_delta_step, min_child_weight);
            for (u32 node = 0; node < tree.count; node++) {
                slot[node].score_hi = NO_SCORE;
                slot[node].score_lo = 0.0f;
                slot[node].bin_direction = NO_KEY;
            }
        }
        if (tree.count == 0) continue;
        GLOBAL u8* closed = closed_columns + (u64)number * n_features;
        const u32 end = first_place(column_begin, n_features, from + ${chunk});
        for (u32 f = first_place(column_begin, n_features, from); f < end; f++) {
            const u32 begin = column_begin[f], n = column_begin[f + 1] - begin;
            if (n == 0 || (step > 0 && closed[f])) continue;
            closed[f] = search_column(&tree, all_rows + begin, all_places + begin, n, f, &room,
                                      ${"allowed, (n_features + 31) / 32, " if masked else ""}node_rough, slot);
        }
    }
}

/* `n_groups` of the launch of `find`. */
KERNEL(${wg_size}) best(
        const u32 step, const u32 n_groups, const u32 n_trees, const u32 n_entries, const u32 n_nodes,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const candidate_t* RESTRICT found,
        GLOBAL u32* RESTRICT node_rough, GLOBAL candidate_t* RESTRICT chosen) {
    const u32 index = GROUP_ID, first = levels[step].first, count = levels[step].count;
    if (index >= count) return;
    const u32 n_blocks = (n_entries + ${chunk - 1}) / ${chunk}, n_tasks = n_trees * n_blocks;
    const u32 number = nodes[first + index].tree;
    const u32 node = index - first_of_tree(nodes + first, count, number);
    best_t best = no_split();
    u32 feature = 0;
    for (u32 group = 0; group < n_groups; group++) {
        const u32 begin = first_task(n_tasks, group, n_groups), end = first_task(n_tasks, group + 1, n_groups);
        if (begin == end || begin >= (number + 1) * n_blocks || end <= number * n_blocks) continue;
        GLOBAL const candidate_t* c = &found[(u64)(group + number) * n_nodes + node];
        const df s = df_make(c->score_hi, c->score_lo);
        if (c->score_hi > NO_SCORE && ahead(s, c->bin_direction, best.score, best.at)) {
            best.score = s;
            best.at = c->bin_direction;
            best.g = c->left_g;
            best.h = c->left_h;
            feature = c->feature;
        }
    }
    if (best.at != NO_KEY) best.at -= 2 * feature_offset[feature];
    write_candidate(&chosen[index], feature, best);
    node_rough[index] = 0;
}

/* Behind `row_nodes.follow`, which sent all rows of split nodes to the child of missing values. */
KERNEL(${wg_size}) follow_column(
        const u32 step, const u32 n_rows, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT column_begin, GLOBAL const u32* RESTRICT all_rows,
        GLOBAL const u32* RESTRICT all_places, GLOBAL u32* RESTRICT row_nodes) {
    const u32 first = levels[step].first, count = levels[step].count;
    for (u32 index = GROUP_ID; index < count; index += N_GROUPS) {
        GLOBAL const node_t* node = &nodes[first + index];
        if (node->left == NO_NODE) continue;
        const u32 feature = node->feature, begin = column_begin[feature], end = column_begin[feature + 1];
        const u32 border = begin + first_place(all_places + begin, end - begin,
                                               feature_offset[feature] + node->bin + 1);
        const u32 usual = node->left + (node->default_left ? 0 : 1);
        const u32 other = node->left + (node->default_left ? 1 : 0);
        const u32 to = node->default_left ? end : border;
        GLOBAL u32* own = row_nodes + (u64)node->tree * n_rows;
        for (u32 i = node->default_left ? border : begin; i < to; i++) {
            const u32 row = all_rows[i];
            if (own[row] == usual) own[row] = other;
        }
    }
}
