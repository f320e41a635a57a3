## counting: kernels that compact, stable_partition and radix_sort share
##
##   flags     1 0 1 1 | 0 0 1 0 | 1 1      every group owns `chunk` consecutive flags
##   counts    3       | 1       | 2        flag_counts
##   counts    0       | 3       | 4        offsets: exclusive scan; total 6
##
## A flag is set when it is not zero. Both need group.sum as sum_u32 and group.exclusive_scan as
## scan_u32; offsets of another type, scan_u64.

<%def name="flag_counts(name, wg_size)">
KERNEL(${wg_size}) ${name}(
    GLOBAL const u8* RESTRICT flags, const u32 n, const u32 chunk, GLOBAL u32* RESTRICT counts) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u64 begin = (u64)GROUP_ID * chunk;
    const u32 count = n - begin < chunk ? (u32)(n - begin) : chunk;
    u32 mine = 0;
    for (u32 i = LOCAL_ID; i < count; i += ${wg_size}) mine += flags[begin + i] != 0;
    const u32 total = sum_u32(mine, shared);
    if (LOCAL_ID == 0) counts[GROUP_ID] = total;
}
</%def>

<%def name="offsets(name, wg_size, type='u32')">
/* counts becomes its own exclusive scan; one work-group, a share of counts per work-item. */
KERNEL(${wg_size}) ${name}(GLOBAL ${type}* counts, const u32 n_counts, GLOBAL ${type}* total) {
    LOCAL_ARRAY(${type}, shared, ${wg_size});
    const u32 share = (n_counts + ${wg_size - 1}) / ${wg_size};
    const u32 begin = LOCAL_ID * share < n_counts ? LOCAL_ID * share : n_counts;
    const u32 end = n_counts - begin < share ? n_counts : begin + share;
    ${type} sum = 0, all;
    for (u32 i = begin; i < end; ++i) sum += counts[i];
    ${type} before = scan_${type}(sum, shared, &all);
    for (u32 i = begin; i < end; ++i) {
        const ${type} count = counts[i];
        counts[i] = before;
        before += count;
    }
    if (LOCAL_ID == 0) total[0] = all;
}
</%def>
