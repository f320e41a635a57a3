## counting: turn counts into offsets, for compact, run_length, stable_partition and the sorts
##
##   counts    3 | 1 | 2        set flags, or keys with a digit, in every group's chunk
##   offsets   0 | 3 | 4        exclusive scan; total 6
##
## Needs group.exclusive_scan as scan_u32; for counts of another type, scan_u64.

<%def name="offsets(name, wg_size, type='u32')">
/* Replace counts by their exclusive scan. One work-group; each work-item scans a share. */
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
