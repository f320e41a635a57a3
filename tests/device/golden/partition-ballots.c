











typedef struct {
    GLOBAL const u8* codes;
    u64 row_stride;
} column_t;

FN column_t column_of(GLOBAL const u8* codes, const u32 block_features, const u64 row_stride,
                      const u64 block_stride, const u32 paired, const u32 feature) {
    const u32 block = feature / block_features;
    column_t column;
    column.codes = codes + block_at(block, block_stride, paired, 16) + feature % block_features;
    column.row_stride = row_stride;
    return column;
}

FN u32 code_of(const column_t column, const u32 row) { return column.codes[row * column.row_stride]; }



#define NODE_OF(index) (first + (index))

/* Pieces of a histogram that are cleared by a work-group each. */
#define PIECES 32

/* Clear the histograms of the next level to which several groups or pages will add: those of smaller
   children. They are built behind the histograms of the splits before. One group alone fills, and
   clears, the histogram of a child whose parent's rows / 2 are fewer than `least_cleared`. */
FN void clear_next(GLOBAL i64* pool, GLOBAL const node_t* nodes, const u32 first,
                   const u32 next_first, const u32 count, const u32 n_trees,
                   const u32 fixed_slot, const u32 slot_cells, const u32 least_cleared) {
    const u32 next_slot = fixed_slot ? fixed_slot : (next_first - n_trees) / 2 + n_trees;
    const u32 piece = (slot_cells + PIECES - 1) / PIECES;
    const u32 n_pieces = slot_cells ? count * PIECES : 0;
    (void)first;
    for (u32 k = GROUP_ID; k < n_pieces; k += N_GROUPS) {
        const u32 id = NODE_OF(k / PIECES);
        if (id == NO_NODE) continue;
        GLOBAL const node_t* node = &nodes[id];
        if (node->left == NO_NODE || node->count / 2 < least_cleared) continue;
        GLOBAL i64* fresh = pool + (u64)(next_slot + (node->left - next_first) / 2) * slot_cells;
        const u32 begin = k % PIECES * piece;
        const u32 end = begin + piece < slot_cells ? begin + piece : slot_cells;
        for (u32 i = begin + LOCAL_ID; i < end; i += 64) fresh[i] = 0;
    }
}

/* Rows of a node that a task moves: `size` from `begin` on, of the node's list or, without one, in order. */
typedef struct { u32 begin, size, base, in_order, node_begin, node_end, first_row; } task_t;

/* The children's counters: of a page's rows, by which tasks take their places, and of all rows. */
typedef struct { GLOBAL node_t* nodes; GLOBAL u32* rows; } children_t;

/* Take places for n rows among those of a child; return the first. */
FN u32 take_places(const children_t children, const u32 child, const u32 n) {
    atomic_add_global_u32(&children.rows[child], n);
    return atomic_add_global_u32(&children.nodes[child].count, n);
}

FN u32 row_of(const task_t task, GLOBAL const u32* rows, const u32 i) {
    return task.in_order ? task.begin + i - task.base : rows[task.begin + i];
}


/* The node of a task, as `find_node` finds it: a warp looks at 32 nodes at a time. */
FN u32 find_node_by_warp(GLOBAL const u32* task_begin, const u32 n_nodes, const u32 task) {
    const u32 lane = LOCAL_ID % 32;
    u32 first = 0, count = n_nodes;
    while (count > 1) {
        const u32 step = (count + 31) / 32;
        const u32 at = lane * step, begun = at < count && task_begin[first + (at < count ? at : 0)] <= task;
        u32 votes;
        WARP_BALLOT(votes, begun);
        const u32 skipped = (POPCOUNT(votes) - 1) * step;
        first += skipped;
        count = count - skipped < step ? count - skipped : step;
    }
    return first;
}

/* Move a task's rows. A work-item has every 32nd row of its warp's run; `lefts` has a bit for each. */
FN void move_rows(const task_t task, GLOBAL const u32* rows, GLOBAL u32* moved,
                  const column_t column, const code_split_t split, const children_t children,
                  LOCAL u32* counts, LOCAL u32* taken) {
    const u32 lane = LOCAL_ID % 32, warp = LOCAL_ID / 32, begin = warp * 128;
    u32 votes, lefts = 0, n_left = 0;
    const u32 at_0 = begin + 0 + lane;
    const u32 row_0 = row_of(task, rows, at_0 < task.size ? at_0 : 0);
    const u32 at_1 = begin + 32 + lane;
    const u32 row_1 = row_of(task, rows, at_1 < task.size ? at_1 : 0);
    const u32 at_2 = begin + 64 + lane;
    const u32 row_2 = row_of(task, rows, at_2 < task.size ? at_2 : 0);
    const u32 at_3 = begin + 96 + lane;
    const u32 row_3 = row_of(task, rows, at_3 < task.size ? at_3 : 0);
    const u32 code_0 = code_of(column, row_0 - task.first_row);
    const u32 code_1 = code_of(column, row_1 - task.first_row);
    const u32 code_2 = code_of(column, row_2 - task.first_row);
    const u32 code_3 = code_of(column, row_3 - task.first_row);
    lefts |= (u32)(at_0 < task.size && code_goes_left(code_0, split)) << 0;
    lefts |= (u32)(at_1 < task.size && code_goes_left(code_1, split)) << 1;
    lefts |= (u32)(at_2 < task.size && code_goes_left(code_2, split)) << 2;
    lefts |= (u32)(at_3 < task.size && code_goes_left(code_3, split)) << 3;
    WARP_BALLOT(votes, lefts & 1u);
    n_left += POPCOUNT(votes);
    WARP_BALLOT(votes, lefts & 2u);
    n_left += POPCOUNT(votes);
    WARP_BALLOT(votes, lefts & 4u);
    n_left += POPCOUNT(votes);
    WARP_BALLOT(votes, lefts & 8u);
    n_left += POPCOUNT(votes);
    if (lane == 0) counts[warp] = n_left;
    BARRIER();
    u32 before = 0, total = 0;
    for (u32 other = 0; other < 2; other++) {
        before += other < warp ? counts[other] : 0;
        total += counts[other];
    }
    const u32 n_right = task.size - total;
    if (LOCAL_ID == 0) taken[0] = task.node_begin + take_places(children, 0, total);
    if (LOCAL_ID == 63) taken[1] = task.node_end - n_right - take_places(children, 1, n_right);
    BARRIER();
    u32 left_at = taken[0] + before, right_at = taken[1] + begin - before + lane;
    WARP_BALLOT(votes, lefts & 1u);
    {
        const u32 below = POPCOUNT(votes & ((1u << lane) - 1));
        if (at_0 < task.size) moved[lefts & 1u ? left_at + below : right_at - below] = row_0;
        left_at += POPCOUNT(votes);
        right_at += 32 - POPCOUNT(votes);
    }
    WARP_BALLOT(votes, lefts & 2u);
    {
        const u32 below = POPCOUNT(votes & ((1u << lane) - 1));
        if (at_1 < task.size) moved[lefts & 2u ? left_at + below : right_at - below] = row_1;
        left_at += POPCOUNT(votes);
        right_at += 32 - POPCOUNT(votes);
    }
    WARP_BALLOT(votes, lefts & 4u);
    {
        const u32 below = POPCOUNT(votes & ((1u << lane) - 1));
        if (at_2 < task.size) moved[lefts & 4u ? left_at + below : right_at - below] = row_2;
        left_at += POPCOUNT(votes);
        right_at += 32 - POPCOUNT(votes);
    }
    WARP_BALLOT(votes, lefts & 8u);
    {
        const u32 below = POPCOUNT(votes & ((1u << lane) - 1));
        if (at_3 < task.size) moved[lefts & 8u ? left_at + below : right_at - below] = row_3;
        left_at += POPCOUNT(votes);
        right_at += 32 - POPCOUNT(votes);
    }
}


/* with more registers too few groups would run at a time to hide how long memory takes */
#undef GROUPS_OF_A_UNIT
#define GROUPS_OF_A_UNIT 20
KERNEL(64) move(
        const u32 depth, const u32 n_rows, const u32 first_row, const u32 n_trees, const u32 fixed_slot,
        const u32 slot_cells, const u32 least_cleared, const u32 block_features, const u64 row_stride, const u64 block_stride, const u32 paired, GLOBAL const u8* RESTRICT codes,
        GLOBAL const level_t* RESTRICT levels, GLOBAL node_t* nodes, GLOBAL u32* child_rows,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL i64* RESTRICT pool, GLOBAL u32* even_rows, GLOBAL u32* odd_rows) {
    LOCAL_ARRAY(u32, counts, 2);
    LOCAL_ARRAY(u32, taken, 2);
    const u32 next_first = levels[depth + 1].first;
    const u32 first = levels[depth].first, count = next_first - first;
    clear_next(pool, nodes, first, next_first, count, n_trees, fixed_slot, slot_cells, least_cleared);
    const u32 n_tasks = levels[depth].row_tasks;
    for (u32 number = GROUP_ID; number < n_tasks; number += N_GROUPS) {
        const u32 index = find_node_by_warp(task_begin, count, number);
        GLOBAL const node_t* node = &nodes[NODE_OF(index)];
        children_t children;
        children.nodes = &nodes[node->left];
        children.rows = &child_rows[node->left - next_first];
        GLOBAL const u32* rows = node->depth % 2 ? odd_rows : even_rows;
        GLOBAL u32* moved = node->depth % 2 ? even_rows : odd_rows;
        task_t task;
        task.begin = node->begin + (number - task_begin[index]) * 256;
        task.node_begin = node->begin;
        task.node_end = node->begin + node->count;
        task.size = task.node_end - task.begin < 256 ? task.node_end - task.begin : 256;
        task.base = node->tree * n_rows;
        task.in_order = node->in_order;
        task.first_row = first_row;
        const code_split_t split =
            code_split(node->bin, node->default_left, feature_bins[node->feature]);
        const column_t column = column_of(codes, block_features, row_stride, block_stride, paired, node->feature);
        move_rows(task, rows, moved, column, split, children, counts, taken);
    }
}
