## tiles: present values -> cells, tile by tile, without dense codes in between
## uses: portable_math
##
##   count   row_begin[tile][row] = number of the row's present values of the tile's features; a scan then
##           makes it the index of the row's first cell
##   total   the number of all cells, behind the last row of the last tile
##   write   cells[row_begin[tile][row] ..] = the codes of these values, as indices within the tile
##
##   values   |nan 3.1 nan|0.5 nan ..     dense rows, or rows of entries: a column and a value each, the
##   tiles    |f0 f1 f2   |f3 f4 ..       columns ascending in a row
##
## params: wg_size; sparse, rows of entries
<%page args="wg_size, sparse"/>
<%
    source = ("GLOBAL const u32* RESTRICT starts, GLOBAL const u32* RESTRICT columns, " if sparse else "") \
        + "GLOBAL const f32* RESTRICT values"
%>
% if sparse:
/* Index of the first of a row's entries whose column is at least `least`. */
FN u32 first_entry(GLOBAL const u32* columns, const u32 begin, const u32 end, const u32 least) {
    u32 low = begin, high = end;
    while (low < high) {
        const u32 middle = low + (high - low) / 2;
        if (columns[middle] < least) low = middle + 1; else high = middle;
    }
    return low;
}
% endif

/* For every present value of a row in a tile: its `feature` and `value`. A feature without bins has no
   values, but of rows that do not count. */
<%def name="each_present(sparse)">
% if sparse:
        const u32 end = starts[skipped + row + 1];
        for (u32 i = first_entry(columns, starts[skipped + row], end, begins[tile]); i < end; i++) {
            const u32 feature = columns[i];
            const f32 value = values[i];
            if (feature >= begins[tile + 1]) break;
% else:
        for (u32 feature = begins[tile]; feature < begins[tile + 1]; feature++) {
            const f32 value = values[(u64)(skipped + row) * n_features + feature];
% endif
            if (is_missing(value) || tables[feature] == 0) continue;
            ${caller.body()}
        }
</%def>

KERNEL(${wg_size}) count(
        const u32 n_rows, const u32 n_features, const u32 skipped, const u32 first_row,
        const u32 row_words, GLOBAL const u32* RESTRICT begins, GLOBAL const u32* RESTRICT tables,
        ${source}, GLOBAL u32* RESTRICT row_begin) {
    const u32 tile = GROUP_ID_Y;
    for (u32 row = GROUP_ID * ${wg_size} + LOCAL_ID; row < n_rows; row += N_GROUPS * ${wg_size}) {
        u32 n_present = 0;
        (void)n_features;
<%self:each_present sparse="${sparse}">
            n_present++;
</%self:each_present>
        row_begin[(u64)tile * row_words + first_row + row] = n_present;
    }
}

BRIEF
KERNEL(${wg_size}) total(const u64 last, GLOBAL const u32* RESTRICT row_begin, GLOBAL u32* RESTRICT n_cells) {
    if (LOCAL_ID == 0) n_cells[0] = row_begin[last];
}

/* tables: each feature's bins, first step, first key; then keys, as `quantize` searches them */
KERNEL(${wg_size}) write(
        const u32 n_rows, const u32 n_features, const u32 skipped, const u32 first_row,
        const u32 row_words, GLOBAL const u32* RESTRICT begins, GLOBAL const u32* RESTRICT tables,
        GLOBAL const u32x4* RESTRICT features, ${source},
        GLOBAL const u32* RESTRICT row_begin, GLOBAL u16* RESTRICT cells) {
    const u32 tile = GROUP_ID_Y;
    for (u32 row = GROUP_ID * ${wg_size} + LOCAL_ID; row < n_rows; row += N_GROUPS * ${wg_size}) {
        u32 at = row_begin[(u64)tile * row_words + first_row + row];
<%self:each_present sparse="${sparse}">
            GLOBAL const u32* keys = tables + tables[2 * n_features + feature];
            const u32 key = ordered(value);
            u32 bin = 0;
            for (u32 step = tables[n_features + feature]; step > 0; step /= 2)
                bin += keys[bin + step - 1] <= key ? step : 0;
            cells[at++] = (u16)(features[feature].y + bin);
</%self:each_present>
    }
}
