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
${pieces.arguments(dense=False, sum="i64x2")}) {
${pieces.own_tasks()}\
    /* one range for each tile: the tile, its first code, 0 and the number of its cells */
    const u32 tile = ranges[4 * GROUP_ID], code_begin = ranges[4 * GROUP_ID + 1];
    const u32 n_cells = ranges[4 * GROUP_ID + 3];
    GLOBAL const u32* begins = row_begin + (u64)tile * row_words;

<%call expr="pieces.each_piece('i64x2', True, adds)">
        GLOBAL i64x2* mine = target + code_begin;
        for (u32 c = 0; clears && c < n_cells; c++) mine[c] = MAKE_I64X2(0, 0);
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
</%call>
}

${straddling.reduce(wg_size, adds)}
