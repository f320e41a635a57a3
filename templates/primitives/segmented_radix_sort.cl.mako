## segmented_radix_sort: a stable sort of the keys (and values) of every segment, in place
##
##   segment   0       1                2     3                          4
##   length    3       1000             0     50 000                     1500
##   class     tiny    small            tiny  large: chunks of tiles     small
##
##   tiny    at most `tiny` keys: a group sorts several neighbouring segments; a key's index is the number
##           of keys of its segment that come before it
##   small   at most a tile: a group loads the segment once, sorts it in local memory, writes it once
##   large   8 bits a pass: every chunk counts its digits, all counters are scanned, every chunk
##           sorts its tiles by the digit in local memory and writes runs of equal digits
##
##   counters of a large segment    [digit, chunk]; segments follow each other. All are scanned at once:
##                                  an index in a segment is a counter minus the segment's first one
##
## The kernels segment_counts and segment_lists read the lengths. They list the small segments, and the
## chunks of the large ones: chunk_begin[segment], with the number of chunks at the end.
## With wg_size 1, a group sorts one segment after the other: tiny ones as above, others 8 bits a pass.
##
## params: wg_size, items (keys of a work-item in a tile), tiny, large_tiles (tiles in a chunk),
##         key (u32, i32, f32, u64, i64, f64), descending, value (u32, u64: moved as bits; or empty),
##         offset (u32, i64)
<%page args="wg_size, items, tiny, large_tiles, key, descending, value, offset"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="counting" file="counting.cl.mako"/>
<%namespace name="sortable" file="sortable.cl.mako"/>
<%namespace name="local_sort" file="local_sort.cl.mako"/>
<%namespace name="sequential" file="segmented_sort_cpu.cl.mako"/>
<%namespace name="large" file="segmented_sort_large.cl.mako"/>
<%
    tile = wg_size * items
    room = tile + tile // 32 + 1
    chunk = tile * large_tiles
    run = max(1, 1024 // tiny)
    n_bits = int(key[1:])
%>
${sortable.operation(key, descending)}
% if wg_size == 1:
${sequential.kernels(n_bits, tiny, value, offset)}
% else:

FN u32 four_bits(const bits_t bits, const u32 bit) { return (u32)(sortable(bits) >> bit) & 15u; }
FN u32 eight_bits(const bits_t bits, const u32 bit) { return (u32)(sortable(bits) >> bit) & 255u; }

${group.exclusive_scan("scan_u32", "u32", wg_size)}
${local_sort.declare("sort_tile", "bits_t", "four_bits", wg_size, items, bool(value))}
${counting.offsets("segment_offsets", wg_size)}

FN u64 length_of(GLOBAL const ${offset}* offsets, const u64 segment) {
    return (u64)(offsets[segment + 1] - offsets[segment]);
}
FN u32 is_small(const u64 length) { return length > ${tiny} && length <= ${tile}; }
FN u32 chunks_of(const u64 length) {
    return length > ${max(tile, tiny)} ? (u32)((length + ${chunk - 1}) / ${chunk}) : 0;
}

/* Count, for every group's `share` neighbouring segments, the small ones and chunks of large ones. */
KERNEL(${wg_size}) segment_counts(
    GLOBAL const ${offset}* RESTRICT offsets, const u32 n_segments, const u32 share,
    GLOBAL u32* RESTRICT small_counts, GLOBAL u32* RESTRICT chunk_counts) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u64 begin = (u64)GROUP_ID * share;
    const u64 end = n_segments - begin < share ? n_segments : begin + share;
    u32 n_small = 0, n_chunks = 0, total;
    for (u64 s = begin + LOCAL_ID; s < end; s += ${wg_size}) {
        const u64 length = length_of(offsets, s);
        n_small += is_small(length);
        n_chunks += chunks_of(length);
    }
    scan_u32(n_small, shared, &total);
    if (LOCAL_ID == 0) small_counts[GROUP_ID] = total;
    scan_u32(n_chunks, shared, &total);
    if (LOCAL_ID == 0) chunk_counts[GROUP_ID] = total;
}

KERNEL(${wg_size}) segment_lists(
    GLOBAL const ${offset}* RESTRICT offsets, const u32 n_segments, const u32 share,
    GLOBAL const u32* RESTRICT small_counts, GLOBAL const u32* RESTRICT chunk_counts,
    GLOBAL u32* RESTRICT small, GLOBAL u32* RESTRICT chunk_begin) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u64 begin = (u64)GROUP_ID * share;
    const u64 end = n_segments - begin < share ? n_segments : begin + share;
    u32 n_small = small_counts[GROUP_ID], n_chunks = chunk_counts[GROUP_ID], total;
    for (u64 first = begin; first < end; first += ${wg_size}) {
        const u64 s = first + LOCAL_ID;
        const u64 length = s < end ? length_of(offsets, s) : 0;
        const u32 to = n_small + scan_u32(is_small(length), shared, &total);
        if (is_small(length)) small[to] = (u32)s;
        n_small += total;
        const u32 chunks = chunks_of(length), before = scan_u32(chunks, shared, &total);
        if (s < end) chunk_begin[s] = n_chunks + before;
        n_chunks += total;
    }
    if (end == n_segments && LOCAL_ID == 0) chunk_begin[n_segments] = n_chunks;
}

/* Each group sorts ${run} neighbouring segments; those that are not tiny count as empty. */
KERNEL(${wg_size}) sort_tiny(
    GLOBAL bits_t* keys, GLOBAL const ${offset}* RESTRICT offsets, const u32 n_segments
% if value:
    , GLOBAL ${value}* values
% endif
    ) {
    LOCAL_ARRAY(u32, first, ${run + 1}); /* each segment's first index in the local arrays */
    LOCAL_ARRAY(bits_t, raw, ${run * tiny});
    LOCAL_ARRAY(bits_t, order, ${run * tiny});
% if value:
    LOCAL_ARRAY(${value}, moved, ${run * tiny});
% endif
    const u64 segment = (u64)GROUP_ID * ${run};
    for (u32 r = LOCAL_ID; r <= ${run}; r += ${wg_size}) {
        u32 before = 0;
        for (u32 k = 0; k < r; ++k) {
            const u64 length = segment + k < n_segments ? length_of(offsets, segment + k) : 0;
            before += length <= ${tiny} ? (u32)length : 0;
        }
        first[r] = before;
    }
    BARRIER();
    for (u32 pass = 0; pass < 2; ++pass) {
        for (u32 i = LOCAL_ID; i < first[${run}]; i += ${wg_size}) {
            u32 r = 0; /* the last segment that begins at or before i */
            for (u32 beyond = ${run}; beyond - r > 1;) {
                const u32 middle = r + (beyond - r) / 2;
                if (first[middle] <= i) r = middle;
                else beyond = middle;
            }
            const u64 start = offsets[segment + r];
            if (pass == 0) {
                const bits_t bits = keys[start + i - first[r]];
                raw[i] = bits;
                order[i] = sortable(bits);
% if value:
                moved[i] = values[start + i - first[r]];
% endif
            } else {
                const bits_t mine = order[i];
                const u32 end = first[r + 1];
                u32 rank = 0;
                for (u32 k = first[r]; k < i; ++k) rank += order[k] <= mine;
                for (u32 k = i + 1; k < end; ++k) rank += order[k] < mine;
                keys[start + rank] = raw[i];
% if value:
                values[start + rank] = moved[i];
% endif
            }
        }
        BARRIER();
    }
}

KERNEL(${wg_size}) sort_small(
    GLOBAL bits_t* keys, GLOBAL const ${offset}* RESTRICT offsets,
    GLOBAL const u32* RESTRICT small, GLOBAL const u32* RESTRICT n_small
% if value:
    , GLOBAL ${value}* values
% endif
    ) {
    LOCAL_ARRAY(bits_t, staged, ${room});
    LOCAL_ARRAY(u16, index, ${room if value else 1});
    LOCAL_ARRAY(u32, words, ${9 * wg_size});
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u32 id = LOCAL_ID, all = n_small[0];
    for (u32 place = GROUP_ID; place < all; place += N_GROUPS) {
        const u64 start = offsets[small[place]];
        const u32 count = (u32)length_of(offsets, small[place]);
        for (u32 i = id; i < count; i += ${wg_size}) {
            staged[PAD(i)] = keys[start + i];
% if value:
            index[PAD(i)] = (u16)i;
% endif
        }
        BARRIER();
        sort_tile(staged, index, words, shared, count, 0, ${n_bits});
        for (u32 i = id; i < count; i += ${wg_size}) keys[start + i] = staged[PAD(i)];
% if value:
        ${value} moved[${items}];
        for (u32 k = 0; k < ${items}; ++k)
            if (k * ${wg_size} + id < count)
                moved[k] = values[start + index[PAD(k * ${wg_size} + id)]];
        BARRIER();
        for (u32 k = 0; k < ${items}; ++k)
            if (k * ${wg_size} + id < count) values[start + k * ${wg_size} + id] = moved[k];
% endif
        BARRIER();
    }
}

${large.kernels(wg_size, tile, room, chunk, value, offset)}
% endif
