## tiled_histogram_cpu: as `tiled_histogram`, with one work-item a group and 64-bit sums in the caches
## uses: structs tasks
##
##   Rows of deep nodes lie far apart: where each row's cells begin is asked for some rows ahead, and the
##   cells themselves half as many rows ahead.
##
## params: wg_size (1); chunk, rows a task; prefetch, rows ahead (0: not at all, where that is no CPU);
##         adds, pool slots hold sums of other pages or devices (or 0), to which these are added
<%page args="wg_size, chunk, prefetch, adds"/>
<%namespace name="straddling" file="partials.cl.mako"/>
<%namespace name="pieces" file="pieces.cl.mako"/>
${pieces.pieces(chunk)}

KERNEL(${wg_size}) histogram(
        const u32 depth, const u32 n_codes, const u32 n_rows, const u32 first_row, const u32 row_words,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL const u32* RESTRICT even_rows,
        GLOBAL const u32* RESTRICT odd_rows, GLOBAL const i32x2* RESTRICT quanta,
        GLOBAL const i32x2* RESTRICT high_words, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT row_begin, GLOBAL const u16* RESTRICT cells,
        GLOBAL const u32* RESTRICT ranges, GLOBAL i64x2* pool, GLOBAL i64x2* partial) {
    const u32 n_tasks = levels[depth].hist_tasks;
    const u32 my_first = first_task(n_tasks, GROUP_ID_Y, N_GROUPS_Y);
    const u32 my_last = first_task(n_tasks, GROUP_ID_Y + 1, N_GROUPS_Y);
    if (my_first == my_last) return;
    /* one range for each tile: the tile, its first code, 0 and the number of its cells */
    const u32 tile = ranges[4 * GROUP_ID], code_begin = ranges[4 * GROUP_ID + 1];
    const u32 n_cells = ranges[4 * GROUP_ID + 3];
    GLOBAL const u32* begins = row_begin + (u64)tile * row_words;
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
        if (piece.node_first < my_first) target = partial + 2 * (u64)GROUP_ID_Y * n_codes;
        else if (piece.node_last > my_last) target = partial + (2 * (u64)GROUP_ID_Y + 1) * n_codes;
        GLOBAL i64x2* mine = target + code_begin;
% if adds:
        if (piece.node_first < my_first || piece.node_last > my_last)
% endif
        for (u32 c = 0; c < n_cells; c++) mine[c] = MAKE_I64X2(0, 0);
        for (u32 at = piece.begin; at < piece.end; at++) {
            const u32 row = piece.in_order ? at - piece.base : rows[at];
% if prefetch:
            if (!piece.in_order && at + ${prefetch} < piece.end) {
                PREFETCH(begins + (rows[at + ${prefetch}] - first_row));
                const u32 sooner = rows[at + ${prefetch // 2}];
                PREFETCH(cells + begins[sooner - first_row]);
                PREFETCH(quanta + piece.base + sooner);
            }
% endif
            const i32x2 low = quanta[piece.base + row];
            i64x2 pair = MAKE_I64X2(low.x, low.y);
            if (wide) {
                const i32x2 high = high_words[piece.base + row];
                pair = ADD_I64X2(pair, MAKE_I64X2((i64)high.x << 32, (i64)high.y << 32));
            }
            const u32 behind = begins[row - first_row + 1];
            for (u32 i = begins[row - first_row]; i < behind; i++) {
                const u32 cell = cells[i];
                mine[cell] = ADD_I64X2(mine[cell], pair);
            }
        }
        task = piece.last;
    }
}

${straddling.reduce(wg_size, adds)}
