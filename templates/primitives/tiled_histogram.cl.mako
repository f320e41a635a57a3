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
## params: wg_size; most_cells, local accumulators of either kind;
##         ranged, a tile may have several ranges of cells, one for each group; chunk, rows a task;
##         adds, pool slots hold sums of other pages or devices (or 0), to which these are added
<%page args="wg_size, most_cells, ranged, chunk, adds"/>
<%namespace name="pieces" file="pieces.cl.mako"/>
<%namespace name="sums" file="local_sums.cl.mako"/>
${pieces.pieces(chunk)}
${sums.functions(wg_size, most_cells, 1, spare=False)}
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
${pieces.arguments(dense=False)}) {
    LOCAL_ARRAY(i32, local_g, ${most_cells});
    LOCAL_ARRAY(i32, local_h, ${most_cells});
${pieces.own_tasks()}\
    /* a tile, the first of its range's codes, and the range's cells [cell_begin, cell_end) */
    const u32 tile = ranges[4 * GROUP_ID], code_begin = ranges[4 * GROUP_ID + 1];
    const u32 cell_begin = ranges[4 * GROUP_ID + 2], cell_end = ranges[4 * GROUP_ID + 3];
    const u32 n_cells = cell_end - cell_begin;
    GLOBAL const u32* begins = row_begin + (u64)tile * row_words;

<%call expr="pieces.each_piece('i64', False, adds)">
        const i32 wide_sign = wide ? -1 : 0;
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
</%call>
}
