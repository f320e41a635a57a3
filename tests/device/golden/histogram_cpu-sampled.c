
#undef BARRIER
#define BARRIER() ((void)0)











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

/* A row's gradient and Hessian, with their high words if the tree has some. */
FN i64x2 pair_of(GLOBAL const i32x2* quanta, GLOBAL const i32x2* high_words, const u32 at, const u32 wide) {
    const i32x2 low = quanta[at];
    const i64x2 pair = MAKE_I64X2(low.x, low.y);
    if (!wide) return pair;
    const i32x2 high = high_words[at];
    return ADD_I64X2(pair, MAKE_I64X2((i64)high.x << 32, (i64)high.y << 32));
}

/* Add a row's gradient and Hessian to the code of each of its features. */
FN void add_row(GLOBAL i64x2* target, const i64x2 pair, GLOBAL const u32* offset,
                GLOBAL const u8* code, const u32 n_places) {
    u32 place = 0;
    for (; place + 4 <= n_places; place += 4) {
        const u32 some = *(GLOBAL const u32*)(code + place);
        {
            const u32 c = offset[place + 0] + (u32)(some >> 0 & 255);
            target[c] = ADD_I64X2(target[c], pair);
        }
        {
            const u32 c = offset[place + 1] + (u32)(some >> 8 & 255);
            target[c] = ADD_I64X2(target[c], pair);
        }
        {
            const u32 c = offset[place + 2] + (u32)(some >> 16 & 255);
            target[c] = ADD_I64X2(target[c], pair);
        }
        {
            const u32 c = offset[place + 3] + (u32)(some >> 24 & 255);
            target[c] = ADD_I64X2(target[c], pair);
        }
    }
    for (; place < n_places; place++) {
        const u32 c = offset[place] + code[place];
        target[c] = ADD_I64X2(target[c], pair);
    }
}

#define RUN 1024 /* rows of which those that were drawn are picked out together */

/* List the rows of a run that were drawn: those with gradients. Returns their number. */
FN u32 list_drawn(u32* drawn, const piece_t piece, const u32 run, const u32 run_end,
                  GLOBAL const u32* rows, GLOBAL const i32x2* quanta,
                  GLOBAL const i32x2* high_words, const u32 wide) {
    u32 n_drawn = 0;
    for (u32 at = run; at < run_end; at++) { /* no branch, as chance would mispredict it */
        const u32 row = piece.in_order ? at - piece.base : rows[at];
        const i32x2 low = quanta[piece.base + row];
        i32 bits = low.x | low.y;
        if (wide) {
            const i32x2 high = high_words[piece.base + row];
            bits |= high.x | high.y;
        }
        drawn[n_drawn] = row;
        n_drawn += bits != 0;
    }
    return n_drawn;
}

KERNEL(1) histogram(
        const u32 depth, const u32 row_stride, const u32 block_stride, const u32 paired, const u32 n_codes,
        const u32 n_rows, const u32 first_row,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL const u32* RESTRICT even_rows,
        GLOBAL const u32* RESTRICT odd_rows,
        GLOBAL const u32x4* RESTRICT codes, GLOBAL const i32x2* RESTRICT quanta,
        GLOBAL const i32x2* RESTRICT high_words, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT place_offset, GLOBAL const u32x4* RESTRICT fullest,
        GLOBAL const u32* RESTRICT ranges, GLOBAL i64x2* pool, GLOBAL i64x2* partial) {
    const u32 n_tasks = levels[depth].hist_tasks;
    const u32 my_first = first_task(n_tasks, GROUP_ID_Y, N_GROUPS_Y);
    const u32 my_last = first_task(n_tasks, GROUP_ID_Y + 1, N_GROUPS_Y);
    if (my_first == my_last) return;
    const u32 first_block = ranges[4 * GROUP_ID] / 16;
    const u32 n_places = ranges[4 * GROUP_ID + 1] - first_block * 16;
    GLOBAL const u32* offset = place_offset + first_block * 16;
    GLOBAL const u8* mine = (GLOBAL const u8*)(codes + block_at(first_block, block_stride, paired, 1));
    const u32 code_begin = ranges[4 * GROUP_ID + 2], code_end = ranges[4 * GROUP_ID + 3];
    (void)fullest; /* here it costs less to add than to leave out */



    const u32 first_node = levels[depth].first, n_nodes = levels[depth].count;
    u32 task = my_first;
    u32 index = find_node(task_begin, n_nodes, task);
    while (task < my_last) {
        while (task_begin[index + 1] <= task) index++;
        GLOBAL const node_t* node = &nodes[first_node + index];
        const piece_t piece = piece_of(node, task_begin + index, task, my_last, n_rows);
        GLOBAL const u32* rows = node->depth % 2 ? odd_rows : even_rows;
        const u32 wide = scale[node->tree].wide;
        GLOBAL i64x2* target = pool + (u64)node->slot * n_codes;
        const int straddles = piece.node_first < my_first || piece.node_last > my_last;
        if (piece.node_first < my_first) target = partial + 2 * (u64)GROUP_ID_Y * n_codes;
        else if (straddles) target = partial + (2 * (u64)GROUP_ID_Y + 1) * n_codes;
        const int alone = 1, clears = straddles;
        (void)alone;
        
        for (u32 c = code_begin; clears && c < code_end; c++) target[c] = MAKE_I64X2(0, 0);
        for (u32 run = piece.begin; run < piece.end; run += RUN) {
        const u32 run_end = piece.end - run < RUN ? piece.end : run + RUN;
        u32 drawn[RUN];
        const u32 n_drawn = list_drawn(
            drawn, piece, run, run_end, rows, quanta, high_words, wide);
        for (u32 at = 0; at < n_drawn; at++) {
            const u32 row = drawn[at];

            const i64x2 pair = pair_of(quanta, high_words, piece.base + row, wide);
            add_row(target, pair, offset, mine + (u64)(row - first_row) * row_stride * 16, n_places);
        }
        }

        task = piece.last;
    }

}


/* Add the partial histograms of each node whose tasks are in several groups. The second of these groups
   does it. */
KERNEL(1) reduce(
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
    for (u32 c = begin + LOCAL_ID; c < end; c += 1) {
        i64 sum = target[c] + partial[(4 * (u64)first_group + 2) * n_codes + c];
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

