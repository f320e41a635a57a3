## cox_metric: sum over events of ln(S / hazard), from hazards of rows in the order of their times
## uses: portable_math portable_log
##
##   order, start and event are as in cox; S is the sum of the hazards of all rows not before an event
##
##   hazard   = m 2^shift units, the largest one just below 2^(2 width) units
##
##      |      width bits      |      width bits      |
##      |-- m --|                                          the largest hazard
##                     |-- m --|                           2^-width of it: bits in both planes
##                                       |-- m --|-        2^-(2 width - 24) of it: lower bits are cut off
##
##   cox_hazards  the prediction of the row at each position
##   (reduce)     the largest hazard
##   cox_planes   the high and the low plane of each hazard; a scan sums the pairs without rounding
##   cox_losses   ln(S / hazard) of events, summed without rounding: see limbs
##   total_losses the sum over work-groups
##
## params: wg_size; link, statements that set the prediction p from margin
<%page args="wg_size, link"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="limbs" file="limbs.cl.mako"/>
${group.sum("group_sum", "i64", wg_size)}
${limbs.keep(wg_size)}
${limbs.products()}
/* Key of the largest product: ln(S / hazard), which is below 256, times weight 1. */
#define LARGEST_KEY (134u + 127u)

FN f32 to_float(const i64 v) {
    const df x = df_from_i64(v);
    return x.hi;
}

KERNEL(${wg_size}) cox_hazards(
        const u32 n_rows, GLOBAL const u32* RESTRICT order, GLOBAL const f32* RESTRICT margins,
        GLOBAL f32* RESTRICT hazards) {
    for (u64 i = GLOBAL_ID; i < n_rows; i += (u64)N_GROUPS * ${wg_size}) {
        const f32 margin = margins[order[i]];
        f32 p;
        ${link}
        hazards[i] = p;
    }
}

KERNEL(${wg_size}) cox_planes(
        const u32 n_rows, const i32 width, GLOBAL const f32* RESTRICT largest,
        GLOBAL const f32* RESTRICT hazards, GLOBAL i64* RESTRICT planes) {
    const i32 top = (i32)(as_u32(largest[0]) >> 23);
    const i64 mask = ((i64)1 << width) - 1;
    for (u64 i = GLOBAL_ID; i < n_rows; i += (u64)N_GROUPS * ${wg_size}) {
        const u32 bits = as_u32(hazards[i]);
        const i64 mantissa = (i64)((bits & 0x7FFFFFu) | 0x800000u);
        const i32 shift = (i32)(bits >> 23) - top + 2 * width - 24;
        const i32 above = shift - width;
        i64 high = 0, low = 0;
        if (above > -24) high = above < 0 ? mantissa >> -above : mantissa << above;
        if (shift > -24 && shift < width)
            low = (shift < 0 ? mantissa >> -shift : (i64)((u64)mantissa << shift)) & mask;
        planes[2 * i] = high;
        planes[2 * i + 1] = low;
    }
}

/* ln(S / hazard), S = high 2^width + low units. */
FN f32 loss_of(const f32 hazard, const i32 top, const i32 width, const i64 high, const i64 low) {
    const u32 bits = as_u32(hazard);
    const i32 exponent = (i32)(bits >> 23) - top + 2 * width + 126; /* biased exponent of the hazard in units */
    const f32 upper = to_float(high) * power_of_two(width);
    const f32 all = upper + to_float(low);
    if (all == 0.0f) return 0.0f; /* all hazards are below a unit */
    const int far = exponent < 107; /* below 2^-20 units: scale, to keep the division in range */
    const f32 own = as_f32(((u32)(far ? exponent + 86 : exponent) << 23) | (bits & 0x7FFFFFu));
    const f32 top_part = far ? all * power_of_two(-50) : all;
    const f32 ln = portable_log(top_part * reciprocal(own));
    return far ? ln + 94.2680245f : ln; /* 136 ln 2 */
}

/* starts[i]: the first position that ties with i; bit 31 is set if i is an event. */
KERNEL(${wg_size}) cox_losses(
        const u32 n_rows, const i32 width, GLOBAL const u32* RESTRICT starts,
        GLOBAL const f32* RESTRICT largest, GLOBAL const f32* RESTRICT hazards,
        GLOBAL const i64* RESTRICT sums, GLOBAL i64* RESTRICT totals) {
    LOCAL_ARRAY(i64, shared, ${wg_size});
    const i32 top = (i32)(as_u32(largest[0]) >> 23);
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
    const i64 all_high = sums[2 * (u64)n_rows - 2], all_low = sums[2 * (u64)n_rows - 1];
    limbs_t sum;
    sum.limb0 = sum.limb1 = sum.limb2 = 0;
    for (u32 i = begin + LOCAL_ID; i < end; i += ${wg_size}) {
        if (!(starts[i] >> 31)) continue;
        const u64 start = starts[i] & 0x7FFFFFFFu;
        const i64 high = all_high - (start ? sums[2 * start - 2] : 0);
        const i64 low = all_low - (start ? sums[2 * start - 1] : 0);
        const f32 loss = loss_of(hazards[i], top, width, high, low);
        add_product(as_u32(loss), 0x3F800000u, LARGEST_KEY, &sum);
    }
    keep_limbs(sum.limb0, sum.limb1, sum.limb2, 0, shared, totals);
}
${limbs.total("total_losses", wg_size)}
