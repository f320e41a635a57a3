## gather_drawn: codes and quanta of the rows that a tree draws, out of a page that takes turns
## uses: blocks
##
##   factors   0 2 0 0 1 1 | 0 0 3 ..       of a page's rows; 0: the row is not drawn
##   codes     a b c d e f | g h i ..       blocks of 16 bytes
##   to_codes  b e f | i | ..               behind the rows of the pages before; so are `to_quanta`
##   rows      0 1 2 | 3 | ..               lists them for the root; drawn[0] is their number
##
##   Rows of a tile are in order; the order of tiles depends on timing, as in `sample`. A tile for which
##   there is no room is left out. Then `needs_high` is set to 2, and the tree is invalid.
##
## params: wg_size
<%page args="wg_size"/>
<%namespace name="group" file="group.cl.mako"/>
<% tile = 1024 if wg_size == 1 else wg_size %>
% if wg_size > 1:
${group.exclusive_scan("group_scan", "u32", wg_size)}
% endif
#define NO_ROOM 0xFFFFFFFFu

/* Take places for the rows of a tile; NO_ROOM if there are too few. */
FN u32 take_places(const u32 n, const u32 capacity, GLOBAL u32* drawn, GLOBAL u32* needs_high) {
    const u32 first = atomic_add_global_u32(drawn, n);
    if (first <= capacity && n <= capacity - first) return first;
    atomic_add_global_u32(drawn, 0u - n);
    needs_high[0] = 2;
    return NO_ROOM;
}

/* Strides count blocks; the arrays of codes count words of 4 bytes. */
KERNEL(${wg_size}) gather_drawn(
        const u32 n_rows, const u32 n_blocks, const u64 row_stride, const u64 block_stride,
        const u32 paired, const u64 to_row_stride, const u64 to_block_stride, const u32 to_paired,
        const u32 capacity,
        GLOBAL const f32* RESTRICT factors, GLOBAL const u32* RESTRICT codes,
        GLOBAL const i32* RESTRICT quanta, GLOBAL u32* RESTRICT to_codes,
        GLOBAL i32* RESTRICT to_quanta, GLOBAL u32* RESTRICT rows, GLOBAL u32* drawn,
        GLOBAL u32* needs_high) {
    LOCAL_ARRAY(u32, seen, ${tile});
    LOCAL_ARRAY(u32, place, 1);
% if wg_size > 1:
    LOCAL_ARRAY(u32, shared, ${wg_size});
% endif
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
    for (u32 tile = begin; tile < end; tile += ${tile}) {
        u32 n_seen = 0;
% if wg_size == 1:
        const u32 tile_end = end - tile < ${tile} ? end : tile + ${tile};
        for (u32 row = tile; row < tile_end; row++) {
            seen[n_seen] = row;
            n_seen += as_u32(factors[row]) != 0;
        }
% else:
        const u32 own = tile + LOCAL_ID;
        const u32 is_drawn = own < end && as_u32(factors[own < end ? own : begin]) != 0;
        const u32 at = group_scan(is_drawn, shared, &n_seen);
        if (is_drawn) seen[at] = own;
% endif
        if (LOCAL_ID == 0) place[0] = n_seen ? take_places(n_seen, capacity, drawn, needs_high) : 0;
        BARRIER();
        const u32 first = place[0];
        const u32 n = first == NO_ROOM ? 0 : n_seen;
        for (u32 block = 0; block < n_blocks; block++) {
            const u64 from = block_at(block, block_stride, paired, 1);
            const u64 to = block_at(block, to_block_stride, to_paired, 1);
            for (u32 i = LOCAL_ID; i < 4 * n; i += ${wg_size})
                to_codes[4 * ((first + i / 4) * to_row_stride + to) + i % 4] =
                    codes[4 * (seen[i / 4] * row_stride + from) + i % 4];
        }
        for (u32 i = LOCAL_ID; i < n; i += ${wg_size}) {
            to_quanta[2 * (u64)(first + i)] = quanta[2 * (u64)seen[i]];
            to_quanta[2 * (u64)(first + i) + 1] = quanta[2 * (u64)seen[i] + 1];
            rows[first + i] = first + i;
        }
        BARRIER();
    }
}
