## stable_partition: within every segment, values whose flag is set first, then the others, in order
##
##   values    a b c d e | f g h            segments of 5 and 3
##   flags     0 1 0 1 1 | 0 0 1
##   ranks     0 0 1 1 2   3 3 3 (4)        partition_ranks: set flags before each value
##   counts    3         | 1                partition_segments: ranks at the segment's ends
##   out       b d e a c | h f g            partition_move
##
## A set value goes to start + its rank in the segment; any other moves right by the set values
## behind it in the segment: i + count - its rank in the segment.
##
## params: wg_size, items (values a work-item takes at a time), type (u32, u64: moved as bits),
##         offset (u32, i64)
<%page args="wg_size, items, type, offset"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="counting" file="counting.cl.mako"/>
${group.sum("sum_u32", "u32", wg_size)}
${group.exclusive_scan("scan_u32", "u32", wg_size)}
${counting.flag_counts("partition_counts", wg_size)}
${counting.offsets("partition_offsets", wg_size)}

/* ranks[i] = set flags before i, for i in 0..n. */
KERNEL(${wg_size}) partition_ranks(
    GLOBAL const u8* RESTRICT flags, const u32 n, const u32 chunk,
    GLOBAL const u32* RESTRICT offsets, GLOBAL u32* RESTRICT ranks) {
    const u64 begin = (u64)GROUP_ID * chunk;
    const u32 count = n - begin < chunk ? (u32)(n - begin) : chunk;
    u32 before = offsets[GROUP_ID];
% if wg_size == 1:
    for (u32 i = 0; i < count; ++i) {
        ranks[begin + i] = before;
        before += flags[begin + i] != 0;
    }
% else:
    LOCAL_ARRAY(u32, shared, ${wg_size});
    for (u32 first = 0; first < count; first += ${wg_size * items}) {
        const u32 mine = first + LOCAL_ID * ${items};
        u32 n_set = 0, total;
        for (u32 i = mine; i < mine + ${items}; ++i)
            if (i < count) n_set += flags[begin + i] != 0;
        u32 rank = before + scan_u32(n_set, shared, &total);
        for (u32 i = mine; i < mine + ${items}; ++i)
            if (i < count) {
                ranks[begin + i] = rank;
                rank += flags[begin + i] != 0;
            }
        before += total;
    }
% endif
    if (begin + count == n && LOCAL_ID == 0) ranks[n] = before;
}

KERNEL(${wg_size}) partition_segments(
    GLOBAL const u32* RESTRICT ranks, GLOBAL const ${offset}* RESTRICT offsets,
    const u32 n_segments, GLOBAL u32* RESTRICT counts) {
    for (u32 k = 0; k < ${items}; ++k) {
        const u64 s = ((u64)GROUP_ID * ${items} + k) * ${wg_size} + LOCAL_ID;
        if (s < n_segments) counts[s] = ranks[offsets[s + 1]] - ranks[offsets[s]];
    }
}

KERNEL(${wg_size}) partition_move(
    GLOBAL const ${type}* RESTRICT values, GLOBAL const u8* RESTRICT flags, const u32 n,
    const u32 chunk, GLOBAL const ${offset}* RESTRICT offsets, const u32 n_segments,
    GLOBAL const u32* RESTRICT ranks, GLOBAL const u32* RESTRICT counts,
    GLOBAL ${type}* RESTRICT out) {
    const u64 begin = (u64)GROUP_ID * chunk;
    const u32 count = n - begin < chunk ? (u32)(n - begin) : chunk;
    u32 segment = 0;
    u64 end = 0;             /* of the segment; none yet, so the first value looks it up */
    u64 set = 0, others = 0; /* what a rank is added to, and what it is taken from */
    for (u32 k = LOCAL_ID; k < count; k += ${wg_size}) {
        const u64 i = begin + k;
        if (i >= end) {
            /* The last segment that begins at or before i: bisection, from the one before. */
            for (u32 beyond = n_segments; beyond - segment > 1;) {
                const u32 middle = segment + (beyond - segment) / 2;
                if ((u64)offsets[middle] <= i) segment = middle;
                else beyond = middle;
            }
            end = offsets[segment + 1];
            set = offsets[segment] - (u64)ranks[offsets[segment]];
            others = (u64)counts[segment] + ranks[offsets[segment]];
        }
        const u32 rank = ranks[i];
        const u64 to = flags[i] != 0 ? set + rank : i + others - rank;
        out[to] = values[i];
    }
}
