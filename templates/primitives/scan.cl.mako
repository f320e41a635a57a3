## scan: out[i] = values[0] op ... op values[i]   (inclusive; exclusive: without values[i])
##
##   values    3 1 2 | 2 0 1 | 4 1        tiles of 4096
##   totals    6     | 3     | 5          scan_totals
##   before    0     | 6     | 9          the same scan of the totals
##   out       0 3 4 | 6 8 8 | 9 13       scan_tiles: exclusive within the tile, after `before`
##
## params: wg_size, type, op (see tree.cl.mako, which also draws the order)
<%page args="wg_size, type, op"/>
<%namespace name="tree" file="tree.cl.mako"/>
${tree.operation(type, op)}
${tree.tile_total("tile_total", wg_size, type, op)}

KERNEL(${wg_size}) scan_totals(
    GLOBAL const stored_t* RESTRICT values, const u64 n, GLOBAL stored_t* RESTRICT totals) {
    LOCAL_ARRAY(value_t, runs, 256);
    LOCAL_ARRAY(value_t, rows, 16);
    const u64 first = (u64)GROUP_ID * 4096;
    const u32 count = n - first < 4096 ? (u32)(n - first) : 4096;
    const value_t total = tile_total(values + first, count, runs, rows);
    if (LOCAL_ID == 0) totals[GROUP_ID] = store(total);
}

/* out may be values: a work-item writes an element after it has read it for the last time. */
KERNEL(${wg_size}) scan_tiles(
    GLOBAL const stored_t* values, const u64 n, const u32 inclusive,
    GLOBAL const stored_t* before, const u32 has_before, GLOBAL stored_t* out) {
    const u64 first = (u64)GROUP_ID * 4096;
    const u32 count = n - first < 4096 ? (u32)(n - first) : 4096;
    const value_t base = has_before ? load(before[GROUP_ID]) : IDENTITY;
    GLOBAL const stored_t* from = values + first;
    GLOBAL stored_t* to = out + first;
% if wg_size == 1:
    value_t rows = IDENTITY;
    ${tree.in_order(type, op)}
    for (u32 i = 0; i < count;) {
        const value_t before_row = combine(base, rows);
        value_t runs = IDENTITY;
        const u32 row_end = count - i < 256 ? count : i + 256;
        ${tree.in_order(type, op)}
        while (i < row_end) {
            const value_t before_run = combine(before_row, runs);
            value_t run = IDENTITY;
            const u32 run_end = row_end - i < 16 ? row_end : i + 16;
            ${tree.in_order(type, op)}
            for (; i < run_end; ++i) {
                const value_t next = combine(run, load(from[i]));
                to[i] = store(combine(before_run, inclusive ? next : run));
                run = next;
            }
            runs = combine(runs, run);
        }
        rows = combine(rows, runs);
    }
% else:
    LOCAL_ARRAY(value_t, runs, 256);
    LOCAL_ARRAY(value_t, rows, 16);
    tile_total(from, count, runs, rows); /* fills runs and rows with their totals */
    for (u32 r = LOCAL_ID; r * 16 < count; r += ${wg_size}) {
        value_t before_row = IDENTITY, before_run = IDENTITY, run = IDENTITY;
        ${tree.in_order(type, op)}
        for (u32 k = 0; k < r / 16; ++k) before_row = combine(before_row, rows[k]);
        ${tree.in_order(type, op)}
        for (u32 k = r / 16 * 16; k < r; ++k) before_run = combine(before_run, runs[k]);
        before_run = combine(combine(base, before_row), before_run);
        ${tree.in_order(type, op)}
        for (u32 i = r * 16; i < r * 16 + 16; ++i)
            if (i < count) {
                const value_t next = combine(run, load(from[i]));
                to[i] = store(combine(before_run, inclusive ? next : run));
                run = next;
            }
    }
% endif
}
