## multi_reduce: out[bucket] = sum of the values of this bucket, which need not be neighbours
##
##   sums      bucket 0: 7 1 | bucket 1: 3 1 | bucket 2: 1 5       multi_sums, see buckets.cl.mako
##   out       8             | 4             | 6                   multi_totals: a group for each sum
##
## params: wg_size, type (u32, u64: sums wrap), numbers (of a value: 1, 2), bucket (u8, u32)
<%page args="wg_size, type, numbers, bucket"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="buckets" file="buckets.cl.mako"/>
${group.sum("group_sum", type, wg_size)}
${buckets.sums("multi_sums", wg_size, type, numbers, bucket)}

KERNEL(${wg_size}) multi_totals(
    GLOBAL const ${type}* RESTRICT sums, const u32 n_groups, GLOBAL ${type}* RESTRICT out) {
    LOCAL_ARRAY(${type}, shared, ${wg_size});
    GLOBAL const ${type}* mine = sums + (u64)GROUP_ID * n_groups;
    ${type} sum = 0;
    for (u32 i = LOCAL_ID; i < n_groups; i += ${wg_size}) sum += mine[i];
    sum = group_sum(sum, shared);
    if (LOCAL_ID == 0) out[GROUP_ID] = sum;
}
