## limbs: sums of wide integers, 32 bits a word, so that 2^31 rows fit int64; other templates import it.
##
##   word     3 2 1 0         of a product of two 64-bit factors
##   sums     i64 each        of a work-group, then of all of them, in one work-group
##
## Needs group.sum as group_sum of i64.

<%def name="keep(wg_size)">
/* Write a work-group's sums of the limbs that its work-items bring. */
FN void keep_limbs(const i64 limb0, const i64 limb1, const i64 limb2, const i64 limb3,
                   LOCAL i64* shared, GLOBAL i64* sums) {
% for k in range(4):
    const i64 total${k} = group_sum(limb${k}, shared);
% endfor
    if (LOCAL_ID == 0) {
% for k in range(4):
        sums[4 * (u64)GROUP_ID + ${k}] = total${k};
% endfor
    }
}
</%def>

<%def name="total(name, wg_size)">
/* One work-group: results[0..3] of a metric are the sums over work-groups. */
KERNEL(${wg_size}) ${name}(
        const u32 n_groups, const u32 first, GLOBAL const i64* RESTRICT sums,
        GLOBAL i64* RESTRICT results) {
    LOCAL_ARRAY(i64, shared, ${wg_size});
% for k in range(4):
    i64 limb${k} = 0;
% endfor
    for (u32 group = LOCAL_ID; group < n_groups; group += ${wg_size}) {
% for k in range(4):
        limb${k} += sums[4 * (u64)group + ${k}];
% endfor
    }
% for k in range(4):
    const i64 total${k} = group_sum(limb${k}, shared);
% endfor
    if (LOCAL_ID == 0) {
% for k in range(4):
        results[first + ${k}] = total${k};
% endfor
    }
}
</%def>
