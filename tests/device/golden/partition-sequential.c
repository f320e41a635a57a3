
#undef BARRIER
#define BARRIER() ((void)0)









FN void group_scan_of_one(const u32 value0, LOCAL u32* shared, u32* before0, u32* total0) {
    (void)shared;
    *before0 = 0;
    *total0 = value0;
}

FN u32 group_scan(const u32 value, LOCAL u32* shared, u32* total) {
    u32 before;
    group_scan_of_one(value, shared, &before, total);
    return before;
}



#define NODE_OF(index) (first + (index))
/* Pieces of a histogram that are cleared by a work-group each. */
#define PIECES 32

KERNEL(1) move(
        const u32 depth, const u32 n_rows, const u32 n_trees, const u32 slot_cells,
        const u32 block_features, const u64 row_stride,
        const u64 block_stride,
        GLOBAL const level_t* RESTRICT levels, GLOBAL node_t* nodes,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL const u32* RESTRICT picks,
        GLOBAL const u8* RESTRICT codes, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL i64* RESTRICT pool, GLOBAL u32* even_rows, GLOBAL u32* odd_rows) {
    u32 lefts[2048], rights[2048];
    const u32 first = levels[depth].first;
    (void)picks;
    const u32 next_first = levels[depth + 1].first;
    const u32 count = next_first - first;
    const u32 n_tasks = levels[depth].row_tasks;

    /* Smaller children are built in the histograms behind those of the splits before; those that
       fit one work-group are cleared there. */
    const u32 next_slot = (next_first - n_trees) / 2 + n_trees;
    const u32 piece = (slot_cells + PIECES - 1) / PIECES;
    const u32 n_pieces = slot_cells ? count * PIECES : 0;
    for (u32 k = GROUP_ID; k < n_pieces; k += N_GROUPS) {
        const u32 id = NODE_OF(k / PIECES);
        if (id == NO_NODE) continue;
        GLOBAL const node_t* node = &nodes[id];
        if (node->left == NO_NODE || node->count / 2 <= 2048) continue;
        GLOBAL i64* fresh = pool + (u64)(next_slot + (node->left - next_first) / 2) * slot_cells;
        const u32 begin = k % PIECES * piece;
        const u32 end = begin + piece < slot_cells ? begin + piece : slot_cells;
        for (u32 i = begin + LOCAL_ID; i < end; i += 1) fresh[i] = 0;
    }

    for (u32 task = GROUP_ID; task < n_tasks; task += N_GROUPS) {
        const u32 index = find_node(task_begin, count, task);
        GLOBAL const node_t* node = &nodes[NODE_OF(index)];
        const u32 base = node->tree * n_rows, in_order = node->in_order;
        GLOBAL const u32* rows = node->depth % 2 ? odd_rows : even_rows;
        GLOBAL u32* moved = node->depth % 2 ? even_rows : odd_rows;
        const u32 begin = node->begin + (task - task_begin[index]) * 2048;
        const u32 node_end = node->begin + node->count;
        const u32 size = node_end - begin < 2048 ? node_end - begin : 2048;
        const code_split_t split =
            code_split(node->bin, node->default_left, feature_bins[node->feature]);
        GLOBAL const u8* column = codes + node->feature / block_features * block_stride
            + node->feature % block_features;
        /* both sides are written and one of them counts: no branch is mispredicted */
        u32 n_left = 0, n_right = 0;
        for (u32 i = 0; i < size; i++) {
            const u32 row = in_order ? begin + i - base : rows[begin + i];
            const u32 left = code_goes_left(column[row * row_stride], split);
            lefts[n_left] = row;
            rights[n_right] = row;
            n_left += left;
            n_right += 1 - left;
        }
        const u32 left_at = node->begin + atomic_add_global_u32(&nodes[node->left].count, n_left);
        const u32 right_at = node_end - n_right
            - atomic_add_global_u32(&nodes[node->left + 1].count, n_right);
        for (u32 i = 0; i < n_left; i++) moved[left_at + i] = lefts[i];
        for (u32 i = 0; i < n_right; i++) moved[right_at + i] = rights[i];
    }
}
