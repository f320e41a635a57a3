## radix_sort: keys (and 4-byte values) in ascending order, stable; one digit of radix_bits a pass
##
##   group      0          1          2           each owns `chunk` consecutive keys
##   keys       b a b a  | a a b a  | b b a b     digits a < b
##   count      a2 b2      a3 b1      a1 b3       counts[digit, group]
##   offsets    a0 b6      a2 b8      a5 b9       where the group's first a and first b go
##   scatter    a a a a a a b b b b b b           groups in order, keys in order: stable
##
## params: wg_size, items (keys a work-item takes at a time), radix_bits, key (u32, i32, f32),
##         has_values
## Keys move as raw bits and are mapped to unsigned order anew in every pass, so -0.0 and NaN
## payloads arrive unchanged.
<%page args="wg_size, items, radix_bits, key, has_values"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="counting" file="counting.cl.mako"/>
<% digits = 1 << radix_bits %>
/* Unsigned order equals key order. f32: both zeros are one key, every NaN is the last key. */
FN u32 sortable(const u32 bits) {
% if key == "f32":
    const u32 magnitude = bits & 0x7fffffffu;
    const u32 ordered = bits ^ ((bits >> 31) ? 0xffffffffu : 0x80000000u);
    const u32 number = magnitude == 0 ? 0x80000000u : ordered;
    return magnitude > 0x7f800000u ? 0xffffffffu : number;
% elif key == "i32":
    return bits ^ 0x80000000u;
% else:
    return bits;
% endif
}

FN u32 digit_of(const u32 bits, const u32 shift) {
    return (sortable(bits) >> shift) & ${digits - 1}u;
}

${group.exclusive_scan("scan_u32", "u32", wg_size)}

/* Where counts[column, digit, group] lies. */
#define PLACE(d) (((u64)GROUP_ID_Y * ${digits} + (d)) * N_GROUPS + GROUP_ID)

/* counts[column, digit, group] = keys of the group's chunk with that digit. Columns begin at
   element `start` of the keys. */
KERNEL(${wg_size}) radix_count(
    GLOBAL const u32* RESTRICT keys, const u64 start, const u32 n, const u32 chunk,
    const u32 shift, GLOBAL u32* RESTRICT counts) {
    const u64 begin = (u64)GROUP_ID * chunk;
    const u32 count = n - begin < chunk ? (u32)(n - begin) : chunk;
    GLOBAL const u32* mine = keys + start + (u64)GROUP_ID_Y * n + begin;
% if wg_size == 1:
    u32 counters[${digits}];
    for (u32 d = 0; d < ${digits}; ++d) counters[d] = 0;
    for (u32 i = 0; i < count; ++i) counters[digit_of(mine[i], shift)] += 1;
    for (u32 d = 0; d < ${digits}; ++d) counts[PLACE(d)] = counters[d];
% else:
    LOCAL_ARRAY(u32, counters, ${digits * wg_size}); /* a column per work-item: no atomics */
    const u32 id = LOCAL_ID;
    for (u32 d = 0; d < ${digits}; ++d) counters[d * ${wg_size} + id] = 0;
    for (u32 i = id; i < count; i += ${wg_size})
        counters[digit_of(mine[i], shift) * ${wg_size} + id] += 1;
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

${counting.offsets("radix_offsets", wg_size)}

/* Each key goes to its digit's next free place. */
KERNEL(${wg_size}) radix_scatter(
    GLOBAL const u32* RESTRICT all_keys, const u64 start, const u32 n, const u32 chunk,
    const u32 shift, GLOBAL const u32* RESTRICT offsets, GLOBAL u32* RESTRICT all_out_keys,
    const u64 out_start
% if has_values:
    , GLOBAL const u32* RESTRICT all_values, GLOBAL u32* RESTRICT out_values
% endif
    ) {
    const u64 begin = (u64)GROUP_ID * chunk;
    const u32 count = n - begin < chunk ? (u32)(n - begin) : chunk;
    const u64 column = start + (u64)GROUP_ID_Y * n;
    GLOBAL const u32* keys = all_keys + column;
    GLOBAL u32* out_keys = all_out_keys + out_start;
% if has_values:
    GLOBAL const u32* values = all_values + (u64)GROUP_ID_Y * n;
% endif
% if wg_size == 1:
    u32 next[${digits}];
    for (u32 d = 0; d < ${digits}; ++d) next[d] = offsets[PLACE(d)];
    for (u32 i = 0; i < count; ++i) {
        const u32 bits = keys[begin + i];
        const u32 to = next[digit_of(bits, shift)]++;
        out_keys[to] = bits;
% if has_values:
        out_values[to] = values[begin + i];
% endif
    }
% else:
<% tile = wg_size * items %>
    LOCAL_ARRAY(u16, counters, ${digits * wg_size}); /* [digit, work-item] */
    LOCAL_ARRAY(u32, staged, ${tile});               /* the tile, sorted by digit */
    LOCAL_ARRAY(u32, shared, ${wg_size});
    LOCAL_ARRAY(u32, next, ${digits});               /* next free place of each digit */
    LOCAL_ARRAY(u32, shift_to, ${digits});           /* place in the tile -> place in the output */
    const u32 id = LOCAL_ID;
    for (u32 d = id; d < ${digits}; d += ${wg_size}) next[d] = offsets[PLACE(d)];
    for (u32 first = 0; first < count; first += ${tile}) {
        const u32 left = count - first < ${tile} ? count - first : ${tile};
        const u64 mine = begin + first + id * ${items};
        u32 bits[${items}], rank[${items}], to[${items}], total;
        /* 1. Count the digits of my items. */
        for (u32 d = 0; d < ${digits}; ++d) counters[d * ${wg_size} + id] = 0;
        for (u32 k = 0; k < ${items}; ++k)
            if (id * ${items} + k < left) {
                bits[k] = keys[mine + k];
                counters[digit_of(bits[k], shift) * ${wg_size} + id] += 1;
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
        /* 3. Sort the tile in local memory, so that neighbours write to neighbouring places. */
        for (u32 k = 0; k < ${items}; ++k)
            if (id * ${items} + k < left) {
                const u32 column = digit_of(bits[k], shift) * ${wg_size} + id;
                rank[k] = counters[column];
                counters[column] = (u16)(rank[k] + 1);
                staged[rank[k]] = bits[k];
            }
        BARRIER();
        for (u32 k = 0; k < ${items}; ++k) {
            const u32 place = k * ${wg_size} + id;
            if (place < left) {
                to[k] = shift_to[digit_of(staged[place], shift)] + place;
                out_keys[to[k]] = staged[place];
            }
        }
        /* A digit's last counter has grown to the end of that digit in the tile. */
        for (u32 d = id; d < ${digits}; d += ${wg_size})
            next[d] = shift_to[d] + counters[d * ${wg_size} + ${wg_size - 1}];
        BARRIER();
% if has_values:
        for (u32 k = 0; k < ${items}; ++k)
            if (id * ${items} + k < left) staged[rank[k]] = values[mine + k];
        BARRIER();
        for (u32 k = 0; k < ${items}; ++k)
            if (k * ${wg_size} + id < left) out_values[to[k]] = staged[k * ${wg_size} + id];
        BARRIER();
% endif
    }
% endif
}
% if wg_size == 1:

/* Sorts whole columns; a work-group takes every N_GROUPS-th one and has a column of scratch. The
   digits of all passes are counted at once; a digit that all keys share takes no pass. */
KERNEL(1) radix_columns(
    GLOBAL u32* keys, const u64 start, const u32 n, const u32 n_columns, GLOBAL u32* scratch_keys
% if has_values:
    , GLOBAL u32* values, GLOBAL u32* scratch_values
% endif
    ) {
    u32 counters[${digits * (32 // radix_bits)}];
    for (u32 column = GROUP_ID; column < n_columns; column += N_GROUPS) {
        GLOBAL u32* home = keys + start + (u64)column * n;
        GLOBAL u32* from = home;
        GLOBAL u32* to = scratch_keys + (u64)GROUP_ID * n;
% if has_values:
        GLOBAL u32* from_value = values + (u64)column * n;
        GLOBAL u32* to_value = scratch_values + (u64)GROUP_ID * n;
% endif
        for (u32 d = 0; d < ${digits * (32 // radix_bits)}; ++d) counters[d] = 0;
        for (u32 i = 0; i < n; ++i) {
            const u32 bits = sortable(from[i]);
% for digit in range(32 // radix_bits):
            counters[${digit * digits} + (bits >> ${digit * radix_bits} & ${digits - 1}u)] += 1;
% endfor
        }
        for (u32 digit = 0; digit < ${32 // radix_bits}; ++digit) {
            const u32 shift = digit * ${radix_bits};
            u32* next = counters + digit * ${digits};
            if (n && next[digit_of(from[0], shift)] == n) continue;
            u32 before = 0;
            for (u32 d = 0; d < ${digits}; ++d) {
                const u32 count = next[d];
                next[d] = before;
                before += count;
            }
            for (u32 i = 0; i < n; ++i) {
                const u32 bits = from[i];
                const u32 place = next[digit_of(bits, shift)]++;
                to[place] = bits;
% if has_values:
                to_value[place] = from_value[i];
% endif
            }
            GLOBAL u32* other = from;
            from = to;
            to = other;
% if has_values:
            other = from_value;
            from_value = to_value;
            to_value = other;
% endif
        }
        if (from == home) continue;
        for (u32 i = 0; i < n; ++i) to[i] = from[i];
% if has_values:
        for (u32 i = 0; i < n; ++i) to_value[i] = from_value[i];
% endif
    }
}
% endif
