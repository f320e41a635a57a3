## radix_sort: a stable sort of keys (and values) by a range of their bits; one digit a pass
##
##   group      0          1          2           each has `chunk` consecutive keys
##   keys       b a b a  | a a b a  | b b a b     digits a < b
##   count      a2 b2      a3 b1      a1 b3       counts[digit, group]
##   offsets    a0 b6      a2 b8      a5 b9       indices of the group's first a and first b
##   scatter    a a a a a a b b b b b b           groups in order, keys in order: stable
##
## params: wg_size, take (keys of a work-item in a tile), radix_bits (of the widest digit), key
##         (u32, i32, f32, u64, i64, f64), value_bytes (0, 4, 8), place (type of indices: u32, u64),
##         descending
## Keys are moved as raw bits. Every pass maps them to unsigned numbers again, so -0.0 and NaN
## payloads are not changed.
<%page args="wg_size, take, radix_bits, key, value_bytes, place, descending"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="counting" file="counting.cl.mako"/>
<%namespace name="sortable" file="sortable.cl.mako"/>
<%namespace name="radix" file="radix_parts.cl.mako"/>
<%
    digits = 1 << radix_bits
    passes = int(key[1:]) // radix_bits
%>
${sortable.operation(key, descending)}
${radix.words(value_bytes, place)}
${group.exclusive_scan("scan_u32", "u32", wg_size)}
% if place == "u64":
${group.exclusive_scan("scan_u64", "u64", wg_size)}
% endif

/* Index of counts[column, digit, group]. */
#define PLACE(d) (((u64)GROUP_ID_Y * ${digits} + (d)) * N_GROUPS + GROUP_ID)

/* counts[column, digit, group] = number of keys with that digit in the group's chunk. The first column
   begins at element `start` of the keys. */
KERNEL(${wg_size}) radix_count(
    GLOBAL const bits_t* RESTRICT keys, const u64 start, const u64 n, const u64 chunk,
    const u32 shift, const u32 mask, GLOBAL place_t* RESTRICT counts) {
    const u64 begin = (u64)GROUP_ID * chunk;
    const place_t count = (place_t)(n - begin < chunk ? n - begin : chunk);
    GLOBAL const bits_t* mine = keys + start + (u64)GROUP_ID_Y * n + begin;
% if wg_size == 1:
    place_t counters[${digits}];
    for (u32 d = 0; d < ${digits}; ++d) counters[d] = 0;
    for (place_t i = 0; i < count; ++i) counters[digit_of(mine[i], shift, mask)] += 1;
    for (u32 d = 0; d < ${digits}; ++d) counts[PLACE(d)] = counters[d];
% else:
    LOCAL_ARRAY(u32, counters, ${digits * wg_size}); /* a column per work-item: no atomics */
    const u32 id = LOCAL_ID;
    for (u32 d = 0; d < ${digits}; ++d) counters[d * ${wg_size} + id] = 0;
    for (place_t i = id; i < count; i += ${wg_size})
        counters[digit_of(mine[i], shift, mask) * ${wg_size} + id] += 1;
    BARRIER();
    for (u32 width = ${wg_size // 2}; width > 0; width /= 2) {
        if (id < width)
            for (u32 d = 0; d < ${digits}; ++d)
                counters[d * ${wg_size} + id] += counters[d * ${wg_size} + id + width];
        BARRIER();
    }
    for (u32 d = id; d < ${digits}; d += ${wg_size})
        counts[PLACE(d)] = counters[d * ${wg_size}];
% endif
}

${counting.offsets("radix_offsets", wg_size, place)}

/* Move each key to its digit's next free index. */
KERNEL(${wg_size}) radix_scatter(
    GLOBAL const bits_t* RESTRICT all_keys, const u64 start, const u64 n, const u64 chunk,
    const u32 shift, const u32 mask, GLOBAL const place_t* RESTRICT offsets,
    GLOBAL bits_t* RESTRICT all_out_keys, const u64 out_start
% if value_bytes:
    , GLOBAL const moved_t* RESTRICT all_values, GLOBAL moved_t* RESTRICT all_out_values
% endif
    ) {
    const u64 begin = (u64)GROUP_ID * chunk;
    const place_t count = (place_t)(n - begin < chunk ? n - begin : chunk);
    const u64 column = (u64)GROUP_ID_Y * n;
    GLOBAL const bits_t* keys = all_keys + start + column;
    GLOBAL bits_t* out_keys = all_out_keys + out_start;
% if value_bytes:
    GLOBAL const moved_t* values = all_values + column;
    GLOBAL moved_t* out_values = all_out_values;
% endif
% if wg_size == 1:
    place_t next[${digits}];
    for (u32 d = 0; d < ${digits}; ++d) next[d] = offsets[PLACE(d)];
    for (place_t i = 0; i < count; ++i) {
        const bits_t bits = keys[begin + i];
        const place_t to = next[digit_of(bits, shift, mask)]++;
        out_keys[to] = bits;
% if value_bytes:
        out_values[to] = values[begin + i];
% endif
    }
% else:
<% tile = wg_size * take %>
    LOCAL_ARRAY(u16, counters, ${digits * wg_size}); /* [digit, work-item] */
    LOCAL_ARRAY(widest_t, tile_words, ${tile});      /* the tile, sorted by digit */
    LOCAL_ARRAY(u32, shared, ${wg_size});
    LOCAL_ARRAY(place_t, next, ${digits});           /* next free index of each digit */
    LOCAL_ARRAY(place_t, shift_to, ${digits});       /* index in the output minus index in the tile */
    LOCAL bits_t* staged = (LOCAL bits_t*)tile_words;
    const u32 id = LOCAL_ID;
    for (u32 d = id; d < ${digits}; d += ${wg_size}) next[d] = offsets[PLACE(d)];
    for (place_t first = 0; first < count; first += ${tile}) {
        const u32 left = count - first < ${tile} ? (u32)(count - first) : ${tile};
        const u64 mine = begin + first + id * ${take};
        bits_t bits[${take}];
        place_t to[${take}];
        u32 rank[${take}], total;
        /* 1. Count the digits of my items. */
        for (u32 d = 0; d < ${digits}; ++d) counters[d * ${wg_size} + id] = 0;
        for (u32 k = 0; k < ${take}; ++k)
            if (id * ${take} + k < left) {
                bits[k] = keys[mine + k];
                counters[digit_of(bits[k], shift, mask) * ${wg_size} + id] += 1;
            }
        BARRIER();
        /* 2. Scan over digits, then work-items: each counter becomes its first rank. */
        u32 sum = 0;
        for (u32 k = 0; k < ${digits}; ++k) sum += counters[id * ${digits} + k];
        u32 before = scan_u32(sum, shared, &total);
        for (u32 k = 0; k < ${digits}; ++k) {
            const u32 c = counters[id * ${digits} + k];
            counters[id * ${digits} + k] = (u16)before;
            before += c;
        }
        BARRIER();
        for (u32 d = id; d < ${digits}; d += ${wg_size})
            shift_to[d] = next[d] - counters[d * ${wg_size}];
        BARRIER();
        /* 3. Sort the tile in local memory, so that neighbouring work-items write neighbours. */
        for (u32 k = 0; k < ${take}; ++k)
            if (id * ${take} + k < left) {
                const u32 column_of = digit_of(bits[k], shift, mask) * ${wg_size} + id;
                rank[k] = counters[column_of];
                counters[column_of] = (u16)(rank[k] + 1);
                staged[rank[k]] = bits[k];
            }
        BARRIER();
        for (u32 k = 0; k < ${take}; ++k) {
            const u32 at = k * ${wg_size} + id;
            if (at < left) {
                to[k] = shift_to[digit_of(staged[at], shift, mask)] + at;
                out_keys[to[k]] = staged[at];
            }
        }
        /* A digit's last counter is now the end of that digit in the tile. */
        for (u32 d = id; d < ${digits}; d += ${wg_size})
            next[d] = shift_to[d] + counters[d * ${wg_size} + ${wg_size - 1}];
        BARRIER();
% if value_bytes:
        LOCAL moved_t* moved = (LOCAL moved_t*)tile_words;
        for (u32 k = 0; k < ${take}; ++k)
            if (id * ${take} + k < left) moved[rank[k]] = values[mine + k];
        BARRIER();
        for (u32 k = 0; k < ${take}; ++k)
            if (k * ${wg_size} + id < left) out_values[to[k]] = moved[k * ${wg_size} + id];
        BARRIER();
% endif
    }
% endif
}

${radix.number("radix_number", wg_size)}
% if wg_size == 1:

${radix.columns("radix_columns", radix_bits, passes, value_bytes)}
% endif
