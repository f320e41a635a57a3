## tiled_histogram: as `histogram`, from the cells of tiles: a row's present codes, and no others
## uses: structs tasks
##
##   features   |f0 f1 f2|f3 f4|f5 ..|     a tile has as many as a group's accumulators hold
##   tile 0     row 0 |3 260| row 1 | | row 2 |7 259 700| ..
##   cell       index of a row's bin among the codes of the tile's features; ascending in a row
##   groups     |--g0--|--g1--|---g2--|    each takes a run of tasks, in every tile
##
##   Missing values have no cells. They stay 0 in the pool; `split` finds their sums as what the others
##   leave of the node's total, as a feature's fullest code.
##
## params: wg_size; partials (no 64-bit atomics); most_cells, local accumulators of either kind;
##         ranged, a tile may have several ranges of cells, one for each group; chunk, rows a task;
##         adds, pool slots hold sums of other pages or devices (or 0), to which these are added
<%page args="wg_size, partials, most_cells, ranged, chunk, adds"/>
<%namespace name="straddling" file="partials.cl.mako"/>
<%namespace name="pieces" file="pieces.cl.mako"/>
<%namespace name="sums" file="local_sums.cl.mako"/>
${pieces.pieces(chunk)}
${sums.functions(wg_size, most_cells, 1, partials, spare=False)}
/* Add a row's quanta to one of its cells. */
#define ADD(cell) { \
        const u32 c = cell; \
        const i32 old_g = atomic_add_local_i32(&local_g[c], low.x); \
        const i32 old_h = atomic_add_local_i32(&local_h[c], low.y); \
        const i32 sum_g = (i32)((u32)old_g + (u32)low.x), sum_h = (i32)((u32)old_h + (u32)low.y); \
        if ((OVERFLOW(old_g, low.x, sum_g) | OVERFLOW(old_h, low.y, sum_h) | wide_sign) < 0) \
            carry(&mine[2 * c], old_g, low.x, high.x, old_h, low.y, high.y); \
    }

KERNEL(${wg_size}) histogram(
        const u32 depth, const u32 n_codes, const u32 n_rows, const u32 first_row, const u32 row_words,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL const u32* RESTRICT even_rows,
        GLOBAL const u32* RESTRICT odd_rows, GLOBAL const i32x2* RESTRICT quanta,
        GLOBAL const i32x2* RESTRICT high_words, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT row_begin, GLOBAL const u16* RESTRICT cells,
        GLOBAL const u32* RESTRICT ranges, GLOBAL i64* pool, GLOBAL i64* partial) {
    LOCAL_ARRAY(i32, local_g, ${most_cells});
    LOCAL_ARRAY(i32, local_h, ${most_cells});
    const u32 n_tasks = levels[depth].hist_tasks;
    const u32 my_first = first_task(n_tasks, GROUP_ID_Y, N_GROUPS_Y);
    const u32 my_last = first_task(n_tasks, GROUP_ID_Y + 1, N_GROUPS_Y);
    if (my_first == my_last) return;
    /* a tile, the first of its range's codes, and the range's cells [cell_begin, cell_end) */
    const u32 tile = ranges[4 * GROUP_ID], code_begin = ranges[4 * GROUP_ID + 1];
    const u32 cell_begin = ranges[4 * GROUP_ID + 2], cell_end = ranges[4 * GROUP_ID + 3];
    const u32 n_cells = cell_end - cell_begin;
    GLOBAL const u32* begins = row_begin + (u64)tile * row_words;
    const u32 first_node = levels[depth].first, n_nodes = levels[depth].count;

    u32 task = my_first;
    u32 index = find_node(task_begin, n_nodes, task);
    while (task < my_last) {
        while (task_begin[index + 1] <= task) index++;
        GLOBAL const node_t* node = &nodes[first_node + index];
        const piece_t piece = piece_of(node, task_begin + index, task, my_last, n_rows);
        GLOBAL const u32* rows = node->depth % 2 ? odd_rows : even_rows;
        const i32 wide_sign = scale[node->tree].wide ? -1 : 0;
        GLOBAL i64* target = pool + 2 * (u64)node->slot * n_codes;
% if partials:
        const int alone = 1;
        if (piece.node_first < my_first) target = partial + 4 * (u64)GROUP_ID_Y * n_codes;
        else if (piece.node_last > my_last) target = partial + (4 * (u64)GROUP_ID_Y + 2) * n_codes;
% else:
        /* `partition` clears what several groups${", or several pages," if adds else ""} may add to */
        const int alone = piece.node_last - piece.node_first == 1;
% endif
% if not adds:
        const int clears = alone;
% elif partials:
        const int clears = piece.node_first < my_first || piece.node_last > my_last;
% else:
        const int clears = 0;
% endif
        GLOBAL i64* mine = target + 2 * code_begin;
        const u32 clear_end = clears ? 2 * n_cells : 0;
        for (u32 c = LOCAL_ID; c < clear_end; c += ${wg_size}) mine[c] = 0;
        clear_sums(local_g, local_h, n_cells);
        BARRIER();
        for (u32 position = piece.begin + LOCAL_ID; position < piece.end; position += ${wg_size}) {
            const u32 row = piece.in_order ? position - piece.base : rows[position];
            const u32 first = begins[row - first_row], behind = begins[row - first_row + 1];
            const i32x2 low = quanta[piece.base + row];
            i32x2 high = MAKE_I32X2(0, 0);
            if (wide_sign) high = high_words[piece.base + row];
            for (u32 at = first; at < behind; at++) {
% if ranged:
                const u32 cell = cells[at] - cell_begin; /* those before the range wrap around */
                if (cell < n_cells) ADD(cell)
% else:
                ADD(cells[at])
% endif
            }
        }
        BARRIER();
        write_sums(mine, n_cells, local_g, local_h, alone);
        BARRIER();
        task = piece.last;
    }
}

% if partials:
${straddling.reduce(wg_size, adds)}
% endif
