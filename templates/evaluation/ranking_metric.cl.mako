## ranking_metric: the sum for ndcg, map or pre over the rows of all queries, ranked by prediction
## uses: portable_math portable_log
##
##   rank_keys     each row's prediction and number
##   (sort)        within each query, largest prediction first; ties keep their order
##
##   query      0        1                2        its rows are neighbours, before and after the sort
##   order      1 0 2    4 6 5 3          7 8
##   rank       0 1 2    0 1 2 3          0 1      a row's part, if its rank is below `top`:
##   relevant   x . x    x x . .          . .
##   hits       1 1 2    1 2 2 2          0 0        pre   1 for a relevant row
##                                                   map   hits / (rank + 1) for a relevant row
##                                                   ndcg  gain / log2(rank + 2)
##
##   sum_places    the parts times their query's norm (its weight / its best possible sum), summed
##                 without rounding: see limbs
##   total_places  the sum over work-groups
##
## params: wg_size; link, statements that set the prediction p from margin; metric (ndcg, map, pre);
##   exp_gain, whether the gain of a label is 2^label - 1 instead of the label
<%page args="wg_size, link, metric, exp_gain"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="limbs" file="limbs.cl.mako"/>
${group.sum("group_sum", "i64", wg_size)}
${limbs.keep(wg_size)}
${limbs.products()}

KERNEL(${wg_size}) rank_keys(
        const u32 n_rows, GLOBAL const f32* RESTRICT margins, GLOBAL f32* RESTRICT keys,
        GLOBAL u32* RESTRICT order) {
    for (u64 row = GLOBAL_ID; row < n_rows; row += (u64)N_GROUPS * ${wg_size}) {
        const f32 margin = margins[row];
        f32 p;
        ${link}
        keys[row] = p;
        order[row] = (u32)row;
    }
}
% if metric == "map":

/* Relevant rows, for a scan over all queries together. */
KERNEL(${wg_size}) rank_hits(
        const u32 n_rows, GLOBAL const u32* RESTRICT order, GLOBAL const f32* RESTRICT labels,
        GLOBAL i32* RESTRICT hits) {
    for (u64 i = GLOBAL_ID; i < n_rows; i += (u64)N_GROUPS * ${wg_size})
        hits[i] = labels[order[i]] > 0.0f ? 1 : 0;
}
% endif

FN f32 part_of(const u32 rank, const f32 label, const u32 hits) {
% if metric == "ndcg":
    const f32 gain = ${"power_of_two((i32)label) - 1.0f" if exp_gain else "label"};
    const f32 discount = 0.693147182f * reciprocal(portable_log((f32)(rank + 2)));
    (void)hits;
    return gain * discount;
% elif metric == "map":
    const f32 precision = (f32)hits * reciprocal((f32)(rank + 1));
    if (label <= 0.0f) return 0.0f;
    return hits == rank + 1 || precision > 1.0f ? 1.0f : precision;
% else:
    (void)rank;
    (void)hits;
    return label > 0.0f ? 1.0f : 0.0f;
% endif
}

/* most: the largest possible key of a product. */
KERNEL(${wg_size}) sum_places(
        const u32 n_rows, const u32 top, const u32 most, GLOBAL const u32* RESTRICT offsets,
        GLOBAL const u32* RESTRICT query, GLOBAL const u32* RESTRICT order,
        GLOBAL const f32* RESTRICT labels, GLOBAL const i32* RESTRICT hits,
        GLOBAL const f32* RESTRICT norms, GLOBAL i64* RESTRICT sums) {
    LOCAL_ARRAY(i64, shared, ${wg_size});
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
    limbs_t sum;
    sum.limb0 = sum.limb1 = sum.limb2 = 0;
    for (u32 i = begin + LOCAL_ID; i < end; i += ${wg_size}) {
        const u32 q = query[i], first = offsets[query[i]];
        const u32 rank = i - first;
        if (rank >= top) continue;
% if metric == "map":
        const u32 up_to = (u32)(hits[i] - (first ? hits[first - 1] : 0));
% else:
        const u32 up_to = 0;
% endif
        const f32 part = part_of(rank, labels[order[i]], up_to);
        add_product(as_u32(part), as_u32(norms[q]), most, &sum);
    }
    keep_limbs(sum.limb0, sum.limb1, sum.limb2, 0, shared, sums);
}
${limbs.total("total_places", wg_size)}
