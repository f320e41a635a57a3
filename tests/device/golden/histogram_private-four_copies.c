








typedef struct {
    u32 node_first, node_last; /* the node's tasks: the first, and the first behind them */
    u32 last;                  /* the first task behind the piece */
    u32 begin, end;            /* its rows, by their places in the node's row list */
    u32 base;                  /* where the node's tree has its quanta */
    u32 in_order;              /* the node has all rows, and no list */
} piece_t;

/* The piece that begins with a task; `task_begin` points to the entry of the task's node. */
FN piece_t piece_of(GLOBAL const node_t* node, GLOBAL const u32* task_begin, const u32 task,
                    const u32 my_last, const u32 n_rows) {
    const u32 node_end = node->begin + node->count;
    piece_t piece;
    piece.node_first = task_begin[0];
    piece.node_last = task_begin[1];
    piece.last = piece.node_last < my_last ? piece.node_last : my_last;
    piece.begin = node->begin + (task - piece.node_first) * 2048;
    piece.end = node->begin + (piece.last - piece.node_first) * 2048;
    if (piece.end > node_end || piece.last == piece.node_last) piece.end = node_end;
    piece.base = node->tree * n_rows;
    piece.in_order = node->in_order;
    return piece;
}


KERNEL(256) histogram(
        const u32 depth, const u32 row_stride, const u32 block_stride, const u32 paired, const u32 n_codes,
        const u32 n_rows, const u32 first_row,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL const u32* RESTRICT even_rows,
        GLOBAL const u32* RESTRICT odd_rows,
        GLOBAL const u8* RESTRICT codes, GLOBAL const i32* RESTRICT quanta,
        GLOBAL const i32* RESTRICT high_words, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT place_offset, GLOBAL const u8* RESTRICT fullest,
        GLOBAL const u32* RESTRICT ranges, GLOBAL i64* pool, GLOBAL i64* partial) {
    LOCAL_ARRAY(i64, sums, 2048);
    const u32 n_tasks = levels[depth].hist_tasks;
    const u32 my_first = first_task(n_tasks, GROUP_ID_Y, N_GROUPS_Y);
    const u32 my_last = first_task(n_tasks, GROUP_ID_Y + 1, N_GROUPS_Y);
    if (my_first == my_last) return;
    const u32 place_begin = ranges[4 * GROUP_ID], place_end = ranges[4 * GROUP_ID + 1];
    const u32 code_begin = ranges[4 * GROUP_ID + 2], code_end = ranges[4 * GROUP_ID + 3];
    const u32 block = place_begin / 16;
    GLOBAL const u8* block_codes = codes + block_at(block, block_stride, paired, 1) * 16;


    const u32 first_node = levels[depth].first, n_nodes = levels[depth].count;
    u32 task = my_first;
    u32 index = find_node(task_begin, n_nodes, task);
    while (task < my_last) {
        while (task_begin[index + 1] <= task) index++;
        GLOBAL const node_t* node = &nodes[first_node + index];
        const piece_t piece = piece_of(node, task_begin + index, task, my_last, n_rows);
        GLOBAL const u32* rows = node->depth % 2 ? odd_rows : even_rows;
        const u32 wide = scale[node->tree].wide;
        GLOBAL i64* target = pool + 2 * (u64)node->slot * n_codes;
        const int straddles = piece.node_first < my_first || piece.node_last > my_last;
        if (piece.node_first < my_first) target = partial + 4 * (u64)GROUP_ID_Y * n_codes;
        else if (straddles) target = partial + (4 * (u64)GROUP_ID_Y + 2) * n_codes;
        const int alone = 1, clears = 1;
        (void)alone;
        
        for (u32 i = LOCAL_ID; i < 2048; i += 256) sums[i] = 0;
        BARRIER();
        for (u32 column = LOCAL_ID; column < 128; column += 256) {
            const u32 copy = column / 32;
            const u32 place = block * 16 + column % 32 / 2, part = column % 2;
            if (place < place_begin || place >= place_end) continue;
            const u32 skipped = fullest[place];
            LOCAL i64* mine = sums + 2 * (copy * 256 + place_offset[place] - code_begin) + part;
            for (u32 position = piece.begin + copy; position < piece.end; position += 4) {
                const u64 row = piece.in_order ? position - piece.base : rows[position];
                const u32 c = block_codes[(row - first_row) * row_stride * 16 + place % 16];
                i64 q = quanta[2 * (piece.base + row) + part];
                if (wide) q += (i64)high_words[2 * (piece.base + row) + part] << 32;
                if (c != skipped) mine[2 * c] += q;
            }
        }
        BARRIER();
        for (u32 i = LOCAL_ID; i < 2 * (code_end - code_begin); i += 256) {
            i64 sum = 0;
            for (u32 copy = 0; copy < 4; copy++) sum += sums[2 * copy * 256 + i];
            if (!clears) sum += target[2 * code_begin + i];
            target[2 * code_begin + i] = sum;
        }
        BARRIER();

        task = piece.last;
    }

}


/* Add the partial histograms of each node whose tasks are in several groups. The second of these groups
   does it. */
KERNEL(256) reduce(
        const u32 depth, const u32 n_codes, const u32 n_groups,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL i64* RESTRICT pool,
        GLOBAL const i64* RESTRICT partial) {
    const u32 n_tasks = levels[depth].hist_tasks;
    const u32 group = GROUP_ID_Y;
    const u32 my_first = first_task(n_tasks, group, n_groups);
    if (my_first == first_task(n_tasks, group + 1, n_groups)) return;
    const u32 index = find_node(task_begin, levels[depth].count, my_first);
    const u32 node_first = task_begin[index], node_last = task_begin[index + 1];
    if (node_first == my_first) return;
    const u32 n_used = n_tasks < n_groups ? n_tasks : n_groups; /* groups that have tasks */
    const u32 first_group = (u32)((((u64)node_first + 1) * n_used - 1) / n_tasks);
    if (first_task(n_tasks, first_group + 1, n_groups) != my_first) return;
    const u32 last_group = (u32)(((u64)node_last * n_used - 1) / n_tasks);
    GLOBAL i64* target = pool + 2 * (u64)nodes[levels[depth].first + index].slot * n_codes;
    const u32 begin = (u32)(2 * (u64)n_codes * GROUP_ID / N_GROUPS);
    const u32 end = (u32)(2 * (u64)n_codes * (GROUP_ID + 1) / N_GROUPS);
    for (u32 c = begin + LOCAL_ID; c < end; c += 256) {
        i64 sum = partial[(4 * (u64)first_group + 2) * n_codes + c];
        GLOBAL const i64* own = partial + c;
        u32 g = first_group + 1;
        for (; g + 3 <= last_group; g += 4) { /* four reads at a time */
            const i64 s_0 = own[4 * (u64)(g + 0) * n_codes];
            const i64 s_1 = own[4 * (u64)(g + 1) * n_codes];
            const i64 s_2 = own[4 * (u64)(g + 2) * n_codes];
            const i64 s_3 = own[4 * (u64)(g + 3) * n_codes];
            sum += s_0 + s_1 + (s_2 + s_3);
        }
        for (; g <= last_group; g++) sum += own[4 * (u64)g * n_codes];
        target[c] = sum;
    }
}

