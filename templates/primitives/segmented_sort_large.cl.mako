## segmented_sort_large: the part of segmented_radix_sort for segments that are longer than a tile
##
##   chunk_begin   0 0 2 2 5          segment 1 has 2 chunks, segment 3 has 3
##   counts        segment 1: 256 x 2 counters, [digit, chunk]; segment 3: 256 x 3

<%def name="kernels(wg_size, tile, room, chunk, value, offset)">
/* The segment of a chunk: the last one whose first chunk is not after it. */
FN u32 segment_of(GLOBAL const u32* chunk_begin, const u32 n_segments, const u32 chunk) {
    u32 segment = 0;
    for (u32 beyond = n_segments; beyond - segment > 1;) {
        const u32 middle = segment + (beyond - segment) / 2;
        if (chunk_begin[middle] <= chunk) segment = middle;
        else beyond = middle;
    }
    return segment;
}

KERNEL(${wg_size}) large_counts(
    GLOBAL const bits_t* RESTRICT keys, GLOBAL const ${offset}* RESTRICT offsets,
    GLOBAL const u32* RESTRICT chunk_begin, const u32 n_segments, const u32 bit,
    GLOBAL u32* RESTRICT counts) {
    LOCAL_ARRAY(u32, counters, 1024); /* 4 for every digit, so that neighbours collide less */
    const u32 id = LOCAL_ID, n_chunks = chunk_begin[n_segments];
    for (u32 chunk = GROUP_ID; chunk < n_chunks; chunk += N_GROUPS) {
        const u32 segment = segment_of(chunk_begin, n_segments, chunk);
        const u32 first = chunk_begin[segment], all = chunk_begin[segment + 1] - first;
        const u64 begin = (u64)offsets[segment] + (u64)(chunk - first) * ${chunk};
        const u64 left = (u64)offsets[segment + 1] - begin;
        const u32 count = left < ${chunk} ? (u32)left : ${chunk};
        for (u32 i = id; i < 1024; i += ${wg_size}) counters[i] = 0;
        BARRIER();
        for (u32 i = id; i < count; i += ${wg_size})
            atomic_add_local_u32(&counters[4 * eight_bits(keys[begin + i], bit) + (id & 3u)], 1);
        BARRIER();
        for (u32 d = id; d < 256; d += ${wg_size})
            counts[(u64)first * 256 + (u64)d * all + (chunk - first)] =
                counters[4 * d] + counters[4 * d + 1] + counters[4 * d + 2] + counters[4 * d + 3];
        BARRIER();
    }
}

/* Each group scans SHARE() counters; a work-item takes 4 neighbours at a time. */
#define SHARE() ((counters_in_use(chunk_begin, n_segments) + N_GROUPS - 1) / N_GROUPS)
FN u64 counters_in_use(GLOBAL const u32* chunk_begin, const u32 n_segments) {
    return (u64)chunk_begin[n_segments] * 256;
}

KERNEL(${wg_size}) counter_sums(
    GLOBAL const u32* RESTRICT chunk_begin, const u32 n_segments,
    GLOBAL const u32* RESTRICT counts, GLOBAL u32* RESTRICT sums) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u64 n = counters_in_use(chunk_begin, n_segments), share = SHARE();
    const u64 begin = GROUP_ID * share < n ? GROUP_ID * share : n;
    const u64 end = n - begin < share ? n : begin + share;
    u32 sum = 0, total;
    for (u64 i = begin + LOCAL_ID; i < end; i += ${wg_size}) sum += counts[i];
    scan_u32(sum, shared, &total);
    if (LOCAL_ID == 0) sums[GROUP_ID] = total;
}

KERNEL(${wg_size}) counter_scan(
    GLOBAL const u32* RESTRICT chunk_begin, const u32 n_segments, GLOBAL u32* counts,
    GLOBAL const u32* RESTRICT sums) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u64 n = counters_in_use(chunk_begin, n_segments), share = SHARE();
    const u64 begin = GROUP_ID * share < n ? GROUP_ID * share : n;
    const u64 end = n - begin < share ? n : begin + share;
    u32 base = sums[GROUP_ID], total;
    for (u64 first = begin; first < end; first += ${4 * wg_size}) {
        const u64 mine = first + 4 * LOCAL_ID;
        u32 four[4], sum = 0;
        for (u32 k = 0; k < 4; ++k) {
            four[k] = mine + k < end ? counts[mine + k] : 0;
            sum += four[k];
        }
        u32 before = base + scan_u32(sum, shared, &total);
        for (u32 k = 0; k < 4; ++k) {
            if (mine + k < end) counts[mine + k] = before;
            before += four[k];
        }
        base += total;
    }
}

KERNEL(${wg_size}) large_scatter(
    GLOBAL const bits_t* RESTRICT keys, GLOBAL const ${offset}* RESTRICT offsets,
    GLOBAL const u32* RESTRICT chunk_begin, const u32 n_segments, const u32 bit,
    GLOBAL const u32* RESTRICT counts, GLOBAL bits_t* RESTRICT out_keys
% if value:
    , GLOBAL const ${value}* RESTRICT values, GLOBAL ${value}* RESTRICT out_values
% endif
    ) {
    LOCAL_ARRAY(bits_t, staged, ${room});
    LOCAL_ARRAY(u16, index, ${room if value else 1});
    LOCAL_ARRAY(u32, words, ${9 * wg_size});
    LOCAL_ARRAY(u32, shared, ${wg_size});
    LOCAL_ARRAY(u32, next, 256);     /* next free index of each digit in the segment */
    LOCAL_ARRAY(u32, shift_to, 256); /* index in the segment minus index in the tile */
    const u32 id = LOCAL_ID, n_chunks = chunk_begin[n_segments];
    for (u32 chunk = GROUP_ID; chunk < n_chunks; chunk += N_GROUPS) {
        const u32 segment = segment_of(chunk_begin, n_segments, chunk);
        const u32 first = chunk_begin[segment], all = chunk_begin[segment + 1] - first;
        const u64 start = offsets[segment];
        const u64 begin = start + (u64)(chunk - first) * ${chunk};
        const u64 left = (u64)offsets[segment + 1] - begin;
        const u32 count = left < ${chunk} ? (u32)left : ${chunk};
        GLOBAL const u32* mine = counts + (u64)first * 256;
        for (u32 d = id; d < 256; d += ${wg_size})
            next[d] = mine[(u64)d * all + (chunk - first)] - mine[0];
        for (u32 done = 0; done < count; done += ${tile}) {
            const u32 n = count - done < ${tile} ? count - done : ${tile};
            for (u32 i = id; i < n; i += ${wg_size}) {
                staged[PAD(i)] = keys[begin + done + i];
% if value:
                index[PAD(i)] = (u16)i;
% endif
            }
            BARRIER();
            sort_tile(staged, index, words, shared, n, bit, bit + 8);
            for (u32 i = id; i < n; i += ${wg_size}) { /* find each digit's first key */
                const u32 d = eight_bits(staged[PAD(i)], bit);
                if (i == 0 || eight_bits(staged[PAD(i - 1)], bit) != d) shift_to[d] = next[d] - i;
            }
            BARRIER();
            for (u32 i = id; i < n; i += ${wg_size}) {
                const bits_t bits = staged[PAD(i)];
                const u32 d = eight_bits(bits, bit);
                const u32 to = shift_to[d] + i;
                out_keys[start + to] = bits;
% if value:
                out_values[start + to] = values[begin + done + index[PAD(i)]];
% endif
                if (i == n - 1 || eight_bits(staged[PAD(i + 1)], bit) != d) next[d] = to + 1;
            }
            BARRIER();
        }
    }
}
</%def>
