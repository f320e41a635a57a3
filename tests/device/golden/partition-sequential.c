
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
        for (u32 i = begin + LOCAL_ID; i < end; i += 1) fresh[i] = 0;
    }
}

/* Rows of a node that a task moves: `size` from `begin` on, of the node's list or, without one, in order. */
typedef struct { u32 begin, size, base, in_order, sparse, node_begin, node_end, first_row; } task_t;

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

/* Move a task's rows. */
FN void move_rows(const task_t task, GLOBAL const u32* rows, GLOBAL u32* moved,
                  const column_t column, const right_codes_t split, const children_t children) {
    u32 lefts[2048], rights[2048];
    u32 n_left = 0, i = 0;
    GLOBAL const u32* own = rows + task.begin;
    if (task.in_order) {
        const u32 first = task.begin - task.base;
    for (; i < task.size; i++) {
        const u32 row = first + i;
        const u32 left = !code_goes_right(code_of(column, row - task.first_row), split);
        lefts[n_left] = row;
        rights[i - n_left] = row;
        n_left += left;
    }
    }
    const u32 n_asked = task.sparse && task.size > 48 ? task.size - 48 : 0;
    for (; i < n_asked; i++) {
        const u32 row = own[i]; PREFETCH(column.codes + (own[i + 48] - task.first_row) * column.row_stride);
        const u32 left = !code_goes_right(code_of(column, row - task.first_row), split);
        lefts[n_left] = row;
        rights[i - n_left] = row;
        n_left += left;
    }
    for (; i < task.size; i++) {
        const u32 row = own[i];
        const u32 left = !code_goes_right(code_of(column, row - task.first_row), split);
        lefts[n_left] = row;
        rights[i - n_left] = row;
        n_left += left;
    }
    const u32 n_right = task.size - n_left;
    const u32 left_at = task.node_begin + take_places(children, 0, n_left);
    const u32 right_at = task.node_end - n_right - take_places(children, 1, n_right);
    for (u32 k = 0; k < n_left; k++) moved[left_at + k] = lefts[k];
    for (u32 k = 0; k < n_right; k++) moved[right_at + k] = rights[k];
}

KERNEL(1) move(
        const u32 depth, const u32 n_rows, const u32 first_row, const u32 n_trees, const u32 fixed_slot,
        const u32 slot_cells, const u32 least_cleared, const u32 block_features, const u64 row_stride, const u64 block_stride, const u32 paired, GLOBAL const u8* RESTRICT codes,
        GLOBAL const level_t* RESTRICT levels, GLOBAL node_t* nodes, GLOBAL u32* child_rows,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL i64* RESTRICT pool, GLOBAL u32* even_rows, GLOBAL u32* odd_rows) {
    const u32 next_first = levels[depth + 1].first;
    const u32 first = levels[depth].first, count = next_first - first;
    clear_next(pool, nodes, first, next_first, count, n_trees, fixed_slot, slot_cells, least_cleared);
    const u32 n_tasks = levels[depth].row_tasks;
    for (u32 number = GROUP_ID; number < n_tasks; number += N_GROUPS) {
        const u32 index = find_node(task_begin, count, number);
        GLOBAL const node_t* node = &nodes[NODE_OF(index)];
        children_t children;
        children.nodes = &nodes[node->left];
        children.rows = &child_rows[node->left - next_first];
        GLOBAL const u32* rows = node->depth % 2 ? odd_rows : even_rows;
        GLOBAL u32* moved = node->depth % 2 ? even_rows : odd_rows;
        task_t task;
        task.begin = node->begin + (number - task_begin[index]) * 2048;
        task.node_begin = node->begin;
        task.node_end = node->begin + node->count;
        task.size = task.node_end - task.begin < 2048 ? task.node_end - task.begin : 2048;
        task.base = node->tree * n_rows;
        task.in_order = node->in_order;
        task.sparse = node->count <= n_rows / 8;
        task.first_row = first_row;
        const right_codes_t split =
            right_codes(node->bin, node->default_left, feature_bins[node->feature]);
        const column_t column = column_of(codes, block_features, row_stride, block_stride, paired, node->feature);
        move_rows(task, rows, moved, column, split, children);
    }
}
