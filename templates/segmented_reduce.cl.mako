## segmented_reduce: out[s] = values[offsets[s]] op ... op values[offsets[s + 1] - 1]
##
##   segment    0           1     2                   3           (2 is empty)
##   chunks     4096 4096 7 | 12  |                   | 4096 1    of at most 4096 elements
##   slot       0    1    2   3     4 (empty, skipped)  5    6    one partial result each
##
## Chunk k of segment s has slot offsets[s] / 4096 + s + k. That leaves room enough for every
## segment: ceil(length / 4096) <= offsets[s + 1] / 4096 + 1 - offsets[s] / 4096. So nobody needs to
## count chunks, and a slot's segment is found by bisection.
##
## params: wg_size, items (slots or segments a group takes), type, op (see tree.cl.mako),
##         offset (u32, i64)
<%page args="wg_size, items, type, op, offset"/>
<%namespace name="tree" file="tree.cl.mako"/>
${tree.operation(type, op)}
${tree.tile_total("tile_total", wg_size, type, op)}

FN u64 first_slot(GLOBAL const ${offset}* offsets, const u32 segment) {
    return (u64)offsets[segment] / 4096 + segment;
}

KERNEL(${wg_size}) segment_partials(
    GLOBAL const stored_t* RESTRICT values, GLOBAL const ${offset}* RESTRICT offsets,
    const u32 n_segments, const u64 n_slots, GLOBAL stored_t* RESTRICT partials) {
    LOCAL_ARRAY(value_t, runs, 256);
    LOCAL_ARRAY(value_t, rows, 16);
    const u64 begin = (u64)GROUP_ID * ${items};
    const u64 end = n_slots - begin < ${items} ? n_slots : begin + ${items};
    /* The last segment whose first slot is not beyond `begin`. */
    u32 segment = 0;
    for (u32 beyond = n_segments; beyond - segment > 1;) {
        const u32 middle = segment + (beyond - segment) / 2;
        if (first_slot(offsets, middle) <= begin) segment = middle;
        else beyond = middle;
    }
    for (u64 slot = begin; slot < end; ++slot) {
        if (segment + 1 < n_segments && first_slot(offsets, segment + 1) <= slot) ++segment;
        const u64 chunk = slot - first_slot(offsets, segment); /* huge before the first segment */
        const u64 from = offsets[segment] + chunk * 4096;
        const u64 to = offsets[segment + 1];
        if (chunk <= n_slots && from < to) { /* the same for the whole group */
            const u32 count = to - from < 4096 ? (u32)(to - from) : 4096;
            const value_t total = tile_total(values + from, count, runs, rows);
            if (LOCAL_ID == 0) partials[slot] = store(total);
        }
        BARRIER();
    }
}

KERNEL(${wg_size}) segment_totals(
    GLOBAL const stored_t* RESTRICT partials, GLOBAL const ${offset}* RESTRICT offsets,
    const u32 n_segments, GLOBAL stored_t* RESTRICT out) {
    LOCAL_ARRAY(value_t, runs, 256);
    LOCAL_ARRAY(value_t, rows, 16);
    for (u32 k = 0; k < ${items}; ++k) {
        const u64 segment = (u64)GROUP_ID * ${items} + k;
        if (segment >= n_segments) break; /* the same for the whole group */
        const u64 chunks = ((u64)(offsets[segment + 1] - offsets[segment]) + 4095) / 4096;
        GLOBAL const stored_t* mine = partials + first_slot(offsets, (u32)segment);
        value_t total = IDENTITY;
        ${tree.in_order(type, op)}
        for (u64 first = 0; first < chunks; first += 4096) {
            const u64 left = chunks - first;
            total = combine(
                total, tile_total(mine + first, left < 4096 ? (u32)left : 4096, runs, rows));
            BARRIER();
        }
        if (LOCAL_ID == 0) out[segment] = store(total);
    }
}
