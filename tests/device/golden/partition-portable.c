













FN void group_scan_of_one(const u32 value0, LOCAL u32* shared, u32* before0, u32* total0) {
    const u32 id = LOCAL_ID;
    shared[0 + id] = value0;
    BARRIER();
    if (id < 16) {
        u32 sum = 0;
        for (u32 i = id * 16; i < (id + 1) * 16; i++) {
            sum += shared[i];
            shared[i] = sum;
        }
    }
    BARRIER();
    {
        u32 before = 0, all = 0;
        for (u32 run_end = 15; run_end < 256; run_end += 16) {
            const u32 sum = shared[0 + run_end];
            if (run_end < id - id % 16) before += sum;
            all += sum;
        }
        *before0 = before + shared[0 + id] - value0;
        *total0 = all;
    }
    BARRIER();
}

FN u32 group_scan(const u32 value, LOCAL u32* shared, u32* total) {
    u32 before;
    group_scan_of_one(value, shared, &before, total);
    return before;
}


typedef struct {
    GLOBAL const u16* codes;
    u64 row_stride;
} column_t;

FN column_t column_of(GLOBAL const u16* codes, const u32 block_features, const u64 row_stride,
                      const u64 block_stride, const u32 paired, const u32 feature) {
    const u32 block = feature / block_features;
    column_t column;
    column.codes = codes + block_at(block, block_stride, paired, 8) + feature % block_features;
    column.row_stride = row_stride;
    return column;
}

FN u32 code_of(const column_t column, const u32 row) { return column.codes[row * column.row_stride]; }

#define LEFT 0x80000000u
/* Runs of neighbours are read at once: a place left out after each keeps them in other banks. */
#define PLACE(i) ((i) + (i) / 8)


#define NODE_OF(index) picked[index]

/* Pieces of a histogram that are cleared by a work-group each. */
#define PIECES 32

/* Clear the histograms of the next level to which several groups or pages will add: those of smaller
   children. They are built behind the histograms of the splits before. One group alone fills, and
   clears, the histogram of a child whose parent's rows / 2 are fewer than `least_cleared`. */
FN void clear_next(GLOBAL i64* pool, GLOBAL const node_t* nodes, GLOBAL const u32* picked, const u32 first,
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
        for (u32 i = begin + LOCAL_ID; i < end; i += 256) fresh[i] = 0;
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

/* Order a task's rows in local memory: those that go left first. Returns how many go left, and in
   `taken` the places that the task has from the children's counters. */
FN u32 order_rows(const u32 size, LOCAL u32* staged, LOCAL u32* shared, LOCAL u32* taken,
                  const children_t children) {
    const u32 run_begin = LOCAL_ID * 8 < size ? LOCAL_ID * 8 : size;
    const u32 run_end = run_begin + 8 < size ? run_begin + 8 : size;
    u32 n_left = 0, total;
    for (u32 i = run_begin; i < run_end; i++) n_left += staged[PLACE(i)] >> 31;
    u32 left_at = group_scan(n_left, shared, &total);
    if (LOCAL_ID == 0) {
        taken[0] = take_places(children, 0, total);
        taken[1] = take_places(children, 1, size - total);
    }
    u32 right_at = total + run_begin - left_at;
    u32 mine[8];
    for (u32 i = 0; i < 8; i++)
        mine[i] = run_begin + i < run_end ? staged[PLACE(run_begin + i)] : 0;
    BARRIER();
    for (u32 i = 0; i < 8; i++) {
        if (run_begin + i < run_end) {
            const u32 at = mine[i] & LEFT ? left_at++ : right_at++;
            staged[PLACE(at)] = mine[i] & ~LEFT;
        }
    }
    return total;
}

KERNEL(256) move(
        const u32 depth, const u32 n_rows, const u32 first_row, const u32 n_trees, const u32 fixed_slot,
        const u32 slot_cells, const u32 least_cleared, const u32 block_features, const u64 row_stride, const u64 block_stride, const u32 paired, GLOBAL const u16* RESTRICT codes,
        GLOBAL const level_t* RESTRICT levels, GLOBAL node_t* nodes, GLOBAL u32* child_rows,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL const u32* RESTRICT picked, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL i64* RESTRICT pool, GLOBAL u32* even_rows, GLOBAL u32* odd_rows) {
    LOCAL_ARRAY(u32, shared, 256);
    LOCAL_ARRAY(u32, staged, 2304);
    LOCAL_ARRAY(u32, taken, 2);
    const u32 next_first = levels[depth + 1].first;
    const u32 first = 0; /* not of a level: picked ones of any */
    const u32 count = n_trees * 1;
    clear_next(pool, nodes, picked, first, next_first, count, n_trees, fixed_slot, slot_cells, least_cleared);
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
        task.first_row = first_row;
        const code_split_t split =
            code_split(node->bin, node->default_left, feature_bins[node->feature]);
        const column_t column = column_of(codes, block_features, row_stride, block_stride, paired, node->feature);
        for (u32 i = LOCAL_ID; i < task.size; i += 256) {
            const u32 row = row_of(task, rows, i);
            const u32 left = code_goes_left(code_of(column, row - first_row), split);
            staged[PLACE(i)] = left ? row | LEFT : row;
        }
        BARRIER();
        const u32 total = order_rows(task.size, staged, shared, taken, children);
        const u32 left_base = task.node_begin + taken[0];
        const u32 right_base = task.node_end - taken[1] - (task.size - total) - total;
        BARRIER();
        for (u32 i = LOCAL_ID; i < task.size; i += 256)
            moved[(i < total ? left_base : right_base) + i] = staged[PLACE(i)];
        BARRIER();
    }
}
