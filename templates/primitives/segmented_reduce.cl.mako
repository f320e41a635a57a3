## segmented_reduce: one level of out[s] = values[offsets[s]] op ... op values[offsets[s + 1] - 1]
##
##   segment    0           1     2                   3           (2 is empty)
##   chunks     1024 1024 7 | 12  |                   | 1024 1    of at most 1024 inputs
##   slot       0    1    2   3     4                   5    6    one result each
##
## If a segment has one chunk, its result goes to `out`. Otherwise every chunk leaves a partial result,
## an input of the next level. Inputs of a level stand for 2^shift elements each; `shift` grows by 10.
## If a chunk spans `span` elements, chunk k of segment s has slot offsets[s] / span + s + k. Slots of
## different segments do not overlap, as ceil(length / span) <= offsets[s + 1] / span + 1 - offsets[s] /
## span. So chunks need not be counted: a group searches the segment of its first slot, and goes on
## from there.
##
##   chunk      lane 0 1 2 ... 31        each lane is combined from the first row to the last,
##              lane 0 1 2 ... 31        then lanes l and l + 16, l and l + 8, ... 0 and 1
##
## The order depends only on positions within the segment. 32 work-items read a chunk, so their accesses
## are coalesced; there is no barrier until all of a group's chunks are read.
##
## params: wg_size, items (slots of a group), type, op (see tree.cl.mako), offset (u32, i64)
<%page args="wg_size, items, type, op, offset"/>
<%namespace name="tree" file="tree.cl.mako"/>
${tree.operation(type, op)}
#define SKIPPED 0
#define PARTIAL 1
#define RESULT 2

/* A chunk: indices of its first input and of its result. */
typedef struct {
    u64 from, to;
    u32 count, kind;
} chunk_t;

FN u64 first_slot(GLOBAL const ${offset}* offsets, const u32 segment, const u32 shift) {
    return ((u64)offsets[segment] >> (shift + 10)) + segment;
}

FN chunk_t chunk_of(
    const u64 start, const u64 end, const u32 segment, const u64 slot, const u32 shift) {
    const u64 inputs = (end - start + ((u64)1 << shift) - 1) >> shift;
    const u64 k = slot - ((start >> (shift + 10)) + segment); /* huge before the first segment */
    const u64 left = inputs - k * 1024;
    chunk_t chunk;
    chunk.from = (shift == 0 ? start : (start >> shift) + segment) + k * 1024;
    chunk.count = left < 1024 ? (u32)left : 1024;
    chunk.kind = SKIPPED;
    chunk.to = slot;
    if (inputs > 1024) {
        if (k < (inputs + 1023) >> 10) chunk.kind = PARTIAL;
    } else if (k == 0 && (shift == 0 || inputs > 1)) { /* a single input was written to `out` before */
        chunk.kind = RESULT;
        chunk.to = segment;
    }
    return chunk;
}

KERNEL(${wg_size}) segment_level(
    GLOBAL const stored_t* RESTRICT inputs, GLOBAL const ${offset}* RESTRICT offsets,
    const u32 n_segments, const u64 n_slots, const u32 shift, GLOBAL stored_t* RESTRICT partials,
    GLOBAL stored_t* RESTRICT out) {
    const u64 begin = (u64)GROUP_ID * ${items};
    const u64 end = n_slots - begin < ${items} ? n_slots : begin + ${items};
    u32 segment = 0, beyond = n_segments; /* the last segment whose first slot is not after `begin` */
% if wg_size == 1:
    while (beyond - segment > 1) {
        const u32 middle = segment + (beyond - segment) / 2;
        if (first_slot(offsets, middle, shift) <= begin) segment = middle;
        else beyond = middle;
    }
    u64 from_here = (u64)offsets[segment], to_here = (u64)offsets[segment + 1];
    for (u64 slot = begin; slot < end; ++slot) {
        if (segment + 1 < n_segments && (to_here >> (shift + 10)) + segment + 1 <= slot) {
            ++segment;
            from_here = to_here;
            to_here = (u64)offsets[segment + 1];
        }
        if (shift > 0 && to_here - from_here <= (u64)1 << shift) continue; /* finished on an earlier level, as most are */
        const chunk_t chunk = chunk_of(from_here, to_here, segment, slot, shift);
        if (chunk.kind == SKIPPED) continue;
        GLOBAL const stored_t* from = inputs + chunk.from;
        const u32 count = chunk.count;
% if type == "f32" and op == "sum":
        value_t lanes[32];
        for (u32 lane = 0; lane < 32; ++lane) lanes[lane] = IDENTITY;
        u32 row = 0;
        for (; row + 32 <= count; row += 32)
            for (u32 lane = 0; lane < 32; ++lane)
                lanes[lane] = combine(lanes[lane], load(from[row + lane]));
        for (u32 lane = 0; lane < count - row; ++lane)
            lanes[lane] = combine(lanes[lane], load(from[row + lane]));
        for (u32 half_size = 16; half_size > 0; half_size /= 2)
            for (u32 lane = 0; lane < half_size; ++lane)
                lanes[lane] = combine(lanes[lane], lanes[lane + half_size]);
        const value_t total = lanes[0];
% else:
        value_t total = IDENTITY; /* any order gives the same bits */
        for (u32 i = 0; i < count; ++i) total = combine(total, load(from[i]));
% endif
        if (chunk.kind == RESULT) out[chunk.to] = store(total);
        else partials[chunk.to] = store(total);
    }
% else:
    LOCAL_ARRAY(chunk_t, chunks, ${items});
    LOCAL_ARRAY(u64, firsts, ${items});
    LOCAL_ARRAY(value_t, lanes, ${items * 36}); /* 36 instead of 32 avoids bank conflicts between chunks */
    LOCAL_ARRAY(value_t, quarters, ${items * 4});
    LOCAL_ARRAY(u32, is_before, ${wg_size});
    LOCAL_ARRAY(u32, last, 1);
    while (beyond - segment > 1) { /* a search by all work-items together */
        const u32 step = (beyond - segment + ${wg_size - 1}) / ${wg_size};
        const u32 probe = segment + LOCAL_ID * step;
        const u32 before = LOCAL_ID == 0
            || (probe < beyond && first_slot(offsets, probe, shift) <= begin);
        is_before[LOCAL_ID] = before;
        BARRIER();
        if (before && (LOCAL_ID == ${wg_size - 1} || !is_before[LOCAL_ID + 1])) last[0] = LOCAL_ID;
        BARRIER();
        segment += last[0] * step;
        beyond = beyond - segment < step ? beyond : segment + step;
    }
    for (u32 k = LOCAL_ID; k < ${items}; k += ${wg_size})
        firsts[k] = n_segments - segment > k ? first_slot(offsets, segment + k, shift)
                                             : n_slots;
    BARRIER();
    for (u32 k = LOCAL_ID; k < ${items}; k += ${wg_size}) {
        const u64 slot = begin + k;
        u32 own = 0; /* binary search for the slot's segment */
        for (u32 after = k + 1; after - own > 1;) {
            const u32 middle = own + (after - own) / 2;
            if (firsts[middle] <= slot) own = middle;
            else after = middle;
        }
        chunk_t chunk;
        chunk.kind = SKIPPED;
        if (slot < end)
            chunk = chunk_of(
                (u64)offsets[segment + own], (u64)offsets[segment + own + 1], segment + own, slot,
                shift);
        if (chunk.kind == SKIPPED) chunk.count = 0;
        chunks[k] = chunk;
    }
    BARRIER();
    for (u32 v = LOCAL_ID; v < ${items * 32}; v += ${wg_size}) {
        const u32 k = v / 32, lane = v % 32, count = chunks[k].count;
        GLOBAL const stored_t* from = inputs + chunks[k].from;
        value_t total = IDENTITY;
        u32 i = lane;
        ${tree.in_order(type, op)}
        for (; i + 224 < count; i += 256) {
% for row in range(8):
            const stored_t x${row} = from[i + ${32 * row}];
% endfor
% for row in range(8):
            total = combine(total, load(x${row}));
% endfor
        }
        ${tree.in_order(type, op)}
        for (; i < count; i += 32) total = combine(total, load(from[i]));
        lanes[k * 36 + lane] = total;
    }
    BARRIER();
    for (u32 v = LOCAL_ID; v < ${items * 4}; v += ${wg_size}) {
        const u32 first = v / 4 * 36 + v % 4; /* lanes 0, 4, 8, ... of a quarter */
% for k in range(4):
        const value_t x${k} = combine(lanes[first + ${4 * k}], lanes[first + ${4 * k + 16}]);
% endfor
        quarters[v] = combine(combine(x0, x2), combine(x1, x3));
    }
    BARRIER();
    for (u32 k = LOCAL_ID; k < ${items}; k += ${wg_size}) {
        const value_t even = combine(quarters[4 * k], quarters[4 * k + 2]);
        const value_t total = combine(even, combine(quarters[4 * k + 1], quarters[4 * k + 3]));
        if (chunks[k].kind == RESULT) out[chunks[k].to] = store(total);
        if (chunks[k].kind == PARTIAL) partials[chunks[k].to] = store(total);
    }
% endif
}
