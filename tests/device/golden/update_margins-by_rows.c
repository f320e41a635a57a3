
#undef BARRIER
#define BARRIER() ((void)0)















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

KERNEL(1) add_leaves(
        const u32 n_rows, const u32 first_row, const u32 block_features, const u64 row_stride, const u64 block_stride, const u32 paired, GLOBAL const u8* RESTRICT codes,
        GLOBAL const u32* RESTRICT header, GLOBAL const u32* RESTRICT task_begin,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const u32* RESTRICT even_rows,
        GLOBAL const u32* RESTRICT odd_rows, GLOBAL const u32* RESTRICT feature_bins,
        const u32 first_tree, GLOBAL const f32* RESTRICT node_values, GLOBAL f32* RESTRICT margins) {
    const u32 n_nodes = header[0], n_tasks = header[1];
    for (u32 task = GROUP_ID; task < n_tasks; task += N_GROUPS) {
        const u32 id = find_node(task_begin, n_nodes, task);
        GLOBAL const node_t* node = &nodes[id];
        GLOBAL const u32* rows = (node->depth & 1) ? odd_rows : even_rows;
        const u32 in_order = node->in_order, base = node->tree * n_rows;
        GLOBAL f32* own = margins + (u64)(first_tree + node->tree) * n_rows;
        const u32 begin = node->begin + (task - task_begin[id]) * 2048;
        const u32 node_end = node->begin + node->count;
        const u32 end = begin + 2048 < node_end ? begin + 2048 : node_end;
        if (node->left == NO_NODE) {
            const f32 leaf = node_values[id];
            PLAIN for (u32 position = begin + LOCAL_ID; position < end; position += 1)
                own[in_order ? position - base : rows[position]] += leaf;
        } else { /* into leaves of the last level */
            const f32 left = node_values[node->left], right = node_values[node->left + 1];
            const f32 leaves[2] = {right, left}; /* a compiler makes a branch of a choice, which chance mispredicts */
            const code_split_t split =
                code_split(node->bin, node->default_left, feature_bins[node->feature]);
            const column_t column = column_of(codes, block_features, row_stride, block_stride, paired, node->feature);
            PLAIN for (u32 position = begin + LOCAL_ID; position < end; position += 1) {
                const u32 row = in_order ? position - base : rows[position];
                if (!in_order && position + 48 < end) {
                    const u32 later = rows[position + 48];
                    PREFETCH_FAR(own + later);
                    PREFETCH_FAR(column.codes + (later - first_row) * column.row_stride);
                }
                const u32 goes_left = code_goes_left(code_of(column, row - first_row), split);
                own[row] += leaves[goes_left];
            }
        }
    }
}

