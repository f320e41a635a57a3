## compact: out = the values whose flag is set, in order; count = their number
##
##   values    a b c d | e f g h | i j      every group has `chunk` consecutive values
##   flags     1 0 1 1 | 0 0 1 0 | 1 1
##   counts    3       | 1       | 2        compact_counts
##   counts    0       | 3       | 4        compact_offsets; count = 6
##   out       a c d g i j                  compact_move
##
## params: wg_size, items (values a work-item takes at a time), type (u32, u64: moved as bits)
<%page args="wg_size, items, type"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="counting" file="counting.cl.mako"/>
<%namespace name="positions" file="positions.cl.mako"/>
${group.sum("sum_u32", "u32", wg_size)}
${group.exclusive_scan("scan_u32", "u32", wg_size)}
${positions.flag_words()}
${positions.flag_counts("compact_counts", wg_size, items)}
${counting.offsets("compact_offsets", wg_size)}
% if wg_size > 1:
${positions.flag_mask("flag_mask", items)}
${positions.stage("stage", items)}
% endif

KERNEL(${wg_size}) compact_move(
    GLOBAL const ${type}* RESTRICT values, GLOBAL const u8* RESTRICT flags, const u32 n,
    const u32 chunk, GLOBAL const u32* RESTRICT offsets, GLOBAL ${type}* RESTRICT out) {
    const u64 begin = (u64)GROUP_ID * chunk;
    const u32 count = n - begin < chunk ? (u32)(n - begin) : chunk;
    u32 place = offsets[GROUP_ID];
% if wg_size == 1:
    /* Collect the kept values in a small block first. Storing every value and advancing by its flag
       avoids a branch that is hard to predict. */
    ${type} kept[64];
    for (u32 first = 0; first < count; first += 64) {
        const u32 left = count - first < 64 ? count - first : 64;
        u32 n_kept = 0;
        GLOBAL const u8* mine = flags + begin + first;
        for (u32 i = 0; i < left; ++i) n_kept += mine[i] != 0;
        if (n_kept == 0) continue; /* most blocks, if few flags are set */
        n_kept = 0;
        for (u32 i = 0; i < left; ++i) {
            kept[n_kept] = values[begin + first + i];
            n_kept += flags[begin + first + i] != 0;
        }
        for (u32 i = 0; i < n_kept; ++i) out[place + i] = kept[i];
        place += n_kept;
    }
% else:
<% tile = wg_size * items %>
    LOCAL_ARRAY(u16, kept, ${tile});
    LOCAL_ARRAY(u32, shared, ${wg_size});
    for (u32 first = 0; first < count; first += ${tile}) {
        const u32 mask = flag_mask(flags + begin, first + LOCAL_ID * ${items}, count);
        const u32 n_kept = stage(mask, kept, shared);
        for (u32 i = LOCAL_ID; i < n_kept; i += ${wg_size})
            out[place + i] = values[begin + first + kept[i]];
        place += n_kept;
        BARRIER();
    }
% endif
}
