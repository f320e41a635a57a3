## row_nodes: the node of every row, in every tree of a batch; for fits whose entries lie sorted by column
## uses: structs tasks entries
##
##   row_nodes    |5 3 4 3 6 ..|        one list for each tree
##   follow       rows of nodes that split go to the child of missing values
##   follow_split  rows with a value of the split's feature go where its bin does:
##
##   node's entries   ..|f1 f1 f1 f1 f1 f1|..      the segment of the split's feature, found by binary search
##   bins                0  0  2  3  3  7
##   goes                left     |right
##
##   row_sides    a bit for each row: 1 if its node is a left child
##   add_leaves   margin[row] += value of the row's leaf
##
## params: wg_size; picked, nodes of every tree that split, rather than those of a level
<%page args="wg_size, picked"/>
<%namespace name="nodes" file="picked_nodes.cl.mako"/>
<%namespace name="outputs" file="outputs.cl.mako"/>
${nodes.node_of(picked)}

KERNEL(${wg_size}) follow(
        const u32 step, const u32 n_rows, GLOBAL const node_t* RESTRICT nodes, GLOBAL u32* RESTRICT row_nodes) {
    const u32 tree = GROUP_ID_Y;
    row_nodes += (u64)tree * n_rows;
    for (u32 row = GROUP_ID * ${wg_size} + LOCAL_ID; row < n_rows; row += N_GROUPS * ${wg_size}) {
        const u32 id = step ? row_nodes[row] : tree, left = nodes[id].left;
        row_nodes[row] = left == NO_NODE ? id : left + (nodes[id].default_left ? 0 : 1);
    }
}

KERNEL(${wg_size}) follow_split(
        const u32 step, const u32 n_rows, const u32 n_entries, const u32 n_trees,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        ${"GLOBAL const u32* RESTRICT picked, " if picked else ""}GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT entry_begin, GLOBAL const u32* RESTRICT entry_end,
        GLOBAL const u32* RESTRICT all_rows, GLOBAL const u32* RESTRICT all_places,
        GLOBAL const u32* RESTRICT even_rows, GLOBAL const u32* RESTRICT even_places,
        GLOBAL const u32* RESTRICT odd_rows, GLOBAL const u32* RESTRICT odd_places,
        GLOBAL const i32x2* RESTRICT quanta, GLOBAL u32* RESTRICT row_nodes) {
    const entries_t every = entry_list(all_rows, all_places, quanta);
    const entries_t even = entry_list(even_rows, even_places, quanta);
    const entries_t odd = entry_list(odd_rows, odd_places, quanta);
${nodes.count(picked)}\
    for (u32 index = GROUP_ID_Y; index < count; index += N_GROUPS_Y) {
        const u32 id = NODE_OF(index);
        if (id == NO_NODE || nodes[id].left == NO_NODE) continue;
        GLOBAL const node_t* node = &nodes[id];
        const u32 size = entry_end[id] - entry_begin[id], feature = node->feature;
        const entries_t entries = entries_at(node, entry_begin[id], n_entries, every, even, odd);
        const u32 border = first_place(entries.places, size, feature_offset[feature] + node->bin + 1);
        const u32 begin = node->default_left
            ? border : first_place(entries.places, size, feature_offset[feature]);
        const u32 end = node->default_left
            ? first_place(entries.places, size, feature_offset[feature + 1]) : border;
        const u32 child = node->left + (node->default_left ? 1 : 0);
        GLOBAL u32* own = row_nodes + (u64)node->tree * n_rows;
        for (u32 i = begin + GROUP_ID * ${wg_size} + LOCAL_ID; i < end; i += N_GROUPS * ${wg_size})
            own[entries.rows[i]] = child;
    }
}

/* Children are made in pairs behind the roots: the left one, then the right one. */
KERNEL(${wg_size}) pack_sides(
        const u32 n_rows, const u32 row_words, const u32 n_trees, GLOBAL const u32* RESTRICT row_nodes,
        GLOBAL u32* RESTRICT row_sides) {
    const u32 tree = GROUP_ID_Y;
    row_nodes += (u64)tree * n_rows;
    row_sides += (u64)tree * row_words;
    for (u32 w = GROUP_ID * ${wg_size} + LOCAL_ID; w < row_words; w += N_GROUPS * ${wg_size}) {
        const u32 end = n_rows - 32 * w < 32 ? n_rows - 32 * w : 32;
        u32 word = 0;
        for (u32 k = 0; k < end; k++) {
            const u32 id = row_nodes[32 * w + k];
            word |= (u32)(id >= n_trees && (id - n_trees) % 2 == 0) << k;
        }
        row_sides[w] = word;
    }
}

${outputs.add_leaves(
    wg_size, "GLOBAL const f32* RESTRICT node_values, GLOBAL const u32* RESTRICT row_nodes",
    "node_values[row_nodes[(u64)tree * n_rows + row]]")}
