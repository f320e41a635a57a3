## multi_scan: out[i] = sum of the values before i in the bucket of i (inclusive: and value i)
##
##   bucket    0 2 0 1 | 2 2 0 1       every group has `chunk` consecutive values
##   value     5 1 2 3 | 4 1 1 1
##   sums      bucket 0: 7 1, ...      multi_sums, see buckets.cl.mako
##   sums      bucket 0: 0 7, ...      multi_offsets: sums of the groups before
##   out       0 0 5 0 | 1 5 7 3       multi_places
##
##   A tile of a group, in local memory:  bucket   0 2 0 1
##   stable sort by bucket                place    0 2 3 1      makes a bucket's values neighbours
##   one scan over all values             before   0 5 7 10
##   minus that of the bucket's first     before   0 5 0 0      exact, as sums wrap
##
## params: wg_size, items (values a work-item has in a tile), type (u32, u64: sums wrap),
##         numbers (of a value: 1, 2), bucket (u8, u32)
<%page args="wg_size, items, type, numbers, bucket"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="buckets" file="buckets.cl.mako"/>
<%namespace name="local_sort" file="local_sort.cl.mako"/>
<%
    tile = wg_size * items
    room = tile + tile // 32 + 1
%>
${group.exclusive_scan("scan_values", type, wg_size)}
${buckets.sums("multi_sums", wg_size, type, numbers, bucket)}
% if wg_size > 1:
FN u32 four_bits(const u8 id, const u32 bit) { return ((u32)id >> bit) & 15u; }
${group.exclusive_scan("scan_u32", "u32", wg_size)}
${local_sort.declare("sort_tile", "u8", "four_bits", wg_size, items, True)}
% endif

/* Each work-group replaces one row of sums by its exclusive scan; each work-item scans a share. */
KERNEL(${wg_size}) multi_offsets(GLOBAL ${type}* sums, const u32 n_groups) {
    LOCAL_ARRAY(${type}, shared, ${wg_size});
    GLOBAL ${type}* mine = sums + (u64)GROUP_ID * n_groups;
    const u32 share = (n_groups + ${wg_size - 1}) / ${wg_size};
    const u32 begin = LOCAL_ID * share < n_groups ? LOCAL_ID * share : n_groups;
    const u32 end = n_groups - begin < share ? n_groups : begin + share;
    ${type} sum = 0, all;
    for (u32 i = begin; i < end; ++i) sum += mine[i];
    ${type} before = scan_values(sum, shared, &all);
    for (u32 i = begin; i < end; ++i) {
        const ${type} own = mine[i];
        mine[i] = before;
        before += own;
    }
}

/* out may be values: a group reads a tile before it writes it. */
KERNEL(${wg_size}) multi_places(
    GLOBAL const ${type}* values, GLOBAL const ${bucket}* RESTRICT buckets,
    const u32 n_buckets, const u32 n, const u32 chunk, const u32 inclusive,
    GLOBAL const ${type}* RESTRICT sums, GLOBAL ${type}* out) {
    const u64 begin = (u64)GROUP_ID * chunk;
    const u32 count = n - begin < chunk ? (u32)(n - begin) : chunk;
% if wg_size == 1:
    GLOBAL const ${type}* mine = values + begin * ${numbers};
    GLOBAL const ${bucket}* own = buckets + begin;
    GLOBAL ${type}* to = out + begin * ${numbers};
    ${type} before[${65 * numbers}];
    for (u32 c = 0; c < n_buckets * ${numbers}; ++c)
        before[c] = sums[(u64)c * N_GROUPS + GROUP_ID];
    for (u32 i = 0; i < count; ++i) {
        const u32 b = own[i] < n_buckets ? own[i] : 64;
% for f in range(numbers):
        {
            const ${type} sum = b < 64 ? before[b * ${numbers} + ${f}] : 0;
            const ${type} next = b < 64 ? sum + mine[(u64)i * ${numbers} + ${f}] : 0;
            before[b * ${numbers} + ${f}] = next;
            to[(u64)i * ${numbers} + ${f}] = inclusive ? next : sum;
        }
% endfor
    }
% else:
    LOCAL_ARRAY(u8, ids, ${room});
    LOCAL_ARRAY(u16, index, ${room});
    LOCAL_ARRAY(u32, words, ${9 * wg_size});
    LOCAL_ARRAY(u32, shared, ${wg_size});
    LOCAL_ARRAY(${type}, shared_values, ${wg_size});
    LOCAL_ARRAY(${type}, staged, ${room});
    LOCAL_ARRAY(${type}, before, ${65 * numbers}); /* sum of each bucket before this tile */
    LOCAL_ARRAY(${type}, base, 65);               /* the same minus the scan at the bucket's first value */
    const u32 id = LOCAL_ID;
    for (u32 c = id; c < n_buckets * ${numbers}; c += ${wg_size})
        before[c] = sums[(u64)c * N_GROUPS + GROUP_ID];
    for (u32 first = 0; first < count; first += ${tile}) {
        const u32 left = count - first < ${tile} ? count - first : ${tile};
        const u32 each = (left + ${wg_size - 1}) / ${wg_size};
        const u32 my_begin = id * each < left ? id * each : left;
        const u32 my_end = left - my_begin < each ? left : my_begin + each;
        const u64 here = begin + first;
        for (u32 i = id; i < left; i += ${wg_size}) {
            const u32 b = buckets[here + i];
            ids[PAD(i)] = (u8)(b < n_buckets ? b : n_buckets);
            index[PAD(i)] = (u16)i;
        }
        BARRIER();
        sort_tile(ids, index, words, shared, left, 0, n_buckets < 16 ? 4 : 8);
        for (u32 f = 0; f < ${numbers}; ++f) {
            for (u32 i = id; i < left; i += ${wg_size})
                staged[PAD(i)] = values[(here + i) * ${numbers} + f];
            BARRIER();
            ${type} sum = 0, all;
            for (u32 p = my_begin; p < my_end; ++p) sum += staged[PAD(index[PAD(p)])];
            const ${type} my_first = scan_values(sum, shared_values, &all);
            sum = my_first;
            for (u32 p = my_begin; p < my_end; ++p) {
                const u32 b = ids[PAD(p)];
                if (b < n_buckets && (p == 0 || ids[PAD(p - 1)] != b))
                    base[b] = before[b * ${numbers} + f] - sum;
                sum += staged[PAD(index[PAD(p)])];
            }
            BARRIER();
            sum = my_first;
            for (u32 p = my_begin; p < my_end; ++p) {
                const u32 b = ids[PAD(p)], place = PAD(index[PAD(p)]);
                const ${type} value = staged[place];
                const ${type} up_to = b < n_buckets ? base[b] + sum : 0;
                const ${type} next = b < n_buckets ? up_to + value : 0;
                staged[place] = inclusive ? next : up_to;
                if (b < n_buckets && (p == left - 1 || ids[PAD(p + 1)] != b))
                    before[b * ${numbers} + f] = next;
                sum += value;
            }
            BARRIER();
            for (u32 i = id; i < left; i += ${wg_size})
                out[(here + i) * ${numbers} + f] = staged[PAD(i)];
            BARRIER();
        }
    }
% endif
}
