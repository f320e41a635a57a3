## segment_heads: heads[i] = 1 where a segment begins, from offsets
##
##   offsets   0 3 3 5 | 8 = n       the last offset is the end of the last segment
##   heads     1 0 0 1 0 1 0 0       an empty segment begins where the next one does
##
## Elements before the first offset are a segment too, and so are those from the last offset on.
##
## params: wg_size, items (elements, or offsets, of a work-item), offset (u32, i64)
<%page args="wg_size, items, offset"/>
<% chunk = wg_size * items %>\
KERNEL(${wg_size}) clear_heads(GLOBAL u32* RESTRICT words, const u64 n_words) {
    const u64 first = (u64)GROUP_ID * ${chunk};
    const u32 count = n_words - first < ${chunk} ? (u32)(n_words - first) : ${chunk};
    for (u32 i = LOCAL_ID; i < count; i += ${wg_size}) words[first + i] = 0;
}

/* Several work-items may write the same byte; all of them write 1. */
KERNEL(${wg_size}) mark_heads(
    GLOBAL const ${offset}* RESTRICT offsets, const u64 n_offsets, const u64 n,
    GLOBAL u8* RESTRICT heads) {
    const u64 first = (u64)GROUP_ID * ${chunk};
    const u32 count = n_offsets - first < ${chunk} ? (u32)(n_offsets - first) : ${chunk};
    for (u32 i = LOCAL_ID; i < count; i += ${wg_size}) {
        const u64 head = (u64)offsets[first + i];
        if (head < n) heads[head] = 1;
    }
}
