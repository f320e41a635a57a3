## stable_partition: in every segment, first the values whose flag is set, then the others, in order
##
##   values    a b c d e | f g h            segments of 5 and 3
##   flags     0 1 0 1 1 | 0 0 1
##   ranks     0         | 3         (4)    partition_segments: set flags before each segment
##   counts    3         | 1                partition_move: next segment's rank minus own rank
##   out       b d e a c | h f g            partition_move
##
## A rank in the segment is the number of set flags before a value. A flagged value goes to start + rank.
## Any other goes to i + count - rank: it moves right by the number of flagged values behind it.
##
## params: wg_size, items (values of a work-item in a tile), type (u32, u64: moved as bits),
##         offset (u32, i64)
<%page args="wg_size, items, type, offset"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="counting" file="counting.cl.mako"/>
<%namespace name="positions" file="positions.cl.mako"/>
<% tile = wg_size * items %>
${group.sum("sum_u32", "u32", wg_size)}
${group.exclusive_scan("scan_u32", "u32", wg_size)}
${positions.flag_words()}
${positions.flag_counts("partition_counts", wg_size, items)}
${counting.offsets("partition_offsets", wg_size)}
% if wg_size > 1:
${positions.flag_mask("flag_mask", items)}
${positions.ranks("rank_in_tile", items)}
% endif

/* Index of the first of n_segments + 1 offsets that is not below `place`. */
FN u32 first_offset(
    GLOBAL const ${offset}* offsets, const u32 n_segments, const u64 place) {
    u32 found = 0;
    for (u32 beyond = n_segments; found < beyond;) {
        const u32 middle = found + (beyond - found) / 2;
        if ((u64)offsets[middle] < place) found = middle + 1;
        else beyond = middle;
    }
    return found;
}

/* ranks[s] = number of set flags before segment s, for s in 0..n_segments. Each group writes those of
   the segments that begin in its chunk. */
KERNEL(${wg_size}) partition_segments(
    GLOBAL const u8* RESTRICT flags, const u32 n, const u32 chunk,
    GLOBAL const u32* RESTRICT before_chunk, GLOBAL const ${offset}* RESTRICT offsets,
    const u32 n_segments, GLOBAL u32* RESTRICT ranks) {
    const u64 begin = (u64)GROUP_ID * chunk;
    const u32 count = n - begin < chunk ? (u32)(n - begin) : chunk;
    const u64 end = begin + count + (begin + count == n); /* the last group also has offsets equal to n */
    u32 rank = before_chunk[GROUP_ID];
% if wg_size == 1:
    u64 i = begin;
    for (u64 s = first_offset(offsets, n_segments, begin); s <= n_segments; ++s) {
        const u64 place = offsets[s];
        if (place >= end) break;
        const u32 more = (u32)(place - i);
        GLOBAL const u8* mine = flags + i;
        u32 set = 0;
        for (u32 k = 0; k < more; ++k) set += mine[k] != 0;
        rank += set;
        i = place;
        ranks[s] = rank;
    }
% else:
    LOCAL_ARRAY(u32, masks, ${wg_size});
    LOCAL_ARRAY(u32, before, ${wg_size});
    LOCAL_ARRAY(u32, shared, ${wg_size});
    for (u32 first = 0; first < count; first += ${tile}) {
        const u32 mask = flag_mask(flags + begin, first + LOCAL_ID * ${items}, count);
        u32 total;
        masks[LOCAL_ID] = mask;
        before[LOCAL_ID] = scan_u32(count_bits(mask), shared, &total);
        BARRIER();
        const u64 here = begin + first, next = here + ${tile} < end ? here + ${tile} : end;
        for (u64 s = (u64)first_offset(offsets, n_segments, here) + LOCAL_ID; s <= n_segments;
             s += ${wg_size}) {
            const u64 place = offsets[s];
            if (place >= next) break;
            ranks[s] = rank + (place == n ? total : rank_in_tile((u32)(place - here), masks, before));
        }
        rank += total;
        BARRIER();
    }
    /* if the last tile is full, offsets equal to n are in no tile */
    if (begin + count == n && count % ${tile} == 0)
        for (u64 s = (u64)first_offset(offsets, n_segments, n) + LOCAL_ID; s <= n_segments;
             s += ${wg_size})
            ranks[s] = rank;
% endif
}

KERNEL(${wg_size}) partition_move(
    GLOBAL const ${type}* RESTRICT values, GLOBAL const u8* RESTRICT flags, const u32 n,
    const u32 chunk, GLOBAL const u32* RESTRICT before_chunk,
    GLOBAL const ${offset}* RESTRICT offsets, const u32 n_segments,
    GLOBAL const u32* RESTRICT ranks, GLOBAL u32* RESTRICT counts, GLOBAL ${type}* RESTRICT out) {
    for (u64 s = GLOBAL_ID; s < n_segments; s += (u64)N_GROUPS * ${wg_size})
        counts[s] = ranks[s + 1] - ranks[s];
    const u64 begin = (u64)GROUP_ID * chunk;
    const u32 count = n - begin < chunk ? (u32)(n - begin) : chunk;
    u32 rank = before_chunk[GROUP_ID];
% if wg_size == 1:
    /* the segment of the first value: the last one that begins at or before it */
    u32 segment = first_offset(offsets, n_segments, begin + 1);
    segment -= segment > 0;
    for (u64 i = begin; i < begin + count;) {
        const u64 start = offsets[segment], segment_end = offsets[segment + 1];
        const u64 end = segment_end < begin + count ? segment_end : begin + count;
        const u32 more = end > i ? (u32)(end - i) : 0;
        GLOBAL ${type}* to = out + start;
        u32 set_to = rank - ranks[segment];                       /* both count from `start` */
        u32 other_to = (u32)(i - start) + ranks[segment + 1] - rank;
        rank -= set_to;
        for (u32 k = 0; k < more; ++k) {
            const u32 set = flags[i + k] != 0;
            to[set ? set_to : other_to] = values[i + k];
            set_to += set;
            other_to += set ^ 1u;
        }
        rank += set_to;
        i += more;
        ++segment;
    }
% else:
    LOCAL_ARRAY(u32, masks, ${wg_size});
    LOCAL_ARRAY(u32, before, ${wg_size});
    LOCAL_ARRAY(u32, shared, ${wg_size});
    u32 segment = 0;
    u64 end = 0;             /* of the segment; 0 makes the first value search its segment */
    u64 set = 0, others = 0; /* targets are set + rank, and i + others - rank */
    for (u32 first = 0; first < count; first += ${tile}) {
        const u32 left = count - first < ${tile} ? count - first : ${tile};
        const u32 mask = flag_mask(flags + begin, first + LOCAL_ID * ${items}, count);
        u32 total;
        masks[LOCAL_ID] = mask;
        before[LOCAL_ID] = scan_u32(count_bits(mask), shared, &total);
        BARRIER();
        for (u32 k = LOCAL_ID; k < left; k += ${wg_size}) {
            const u64 i = begin + first + k;
            if (i >= end) {
                /* Binary search for the last segment that begins at or before i. */
                for (u32 beyond = n_segments; beyond - segment > 1;) {
                    const u32 middle = segment + (beyond - segment) / 2;
                    if ((u64)offsets[middle] <= i) segment = middle;
                    else beyond = middle;
                }
                end = offsets[segment + 1];
                set = offsets[segment] - (u64)ranks[segment];
                others = ranks[segment + 1];
            }
            const u64 own = rank + rank_in_tile(k, masks, before);
            const u32 is_set = (masks[k / ${items}] >> (k % ${items})) & 1u;
            out[is_set ? set + own : i + others - own] = values[i];
        }
        rank += total;
        BARRIER();
    }
% endif
}
