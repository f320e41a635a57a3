## mean_loss: results[first ..] = sum over rows of loss(prediction, label) * weight, without rounding
## uses: portable_math portable_log portable_loss portable_survival portable_gamma
##
##   loss   = m 2^(e - 150), weight = n 2^(f - 150): a product of 48 bits, m n, with the key e + f
##   largest_loss   the largest key k of each work-group
##   sum_losses     m n 2^48 shifted right by k - (e + f), cut into limbs of 32 bits, summed
##   total_losses   the sum over work-groups
##
##      |   limb 2   |   limb 1   |   limb 0   |      96 bits; lower bits of products are cut off
##      |--------- m n ---------|                     a product with the largest key
##                  |--------- m n ---------|         a product with a key that is 16 less
##
##   A loss is computed twice instead of stored, as memory traffic would cost more.
##
## params: wg_size; link, statements that set the prediction p from margin; row_loss, statements that
##   set loss from p, the label y and unit; weighted
<%page args="wg_size, link, row_loss, weighted"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="limbs" file="limbs.cl.mako"/>
<% weight = "as_u32(weights[row])" if weighted else "0x3F800000u" %>
${group.sum("group_sum", "i64", wg_size)}
${group.largest("group_largest", "u32", wg_size)}
${limbs.keep(wg_size)}
${limbs.products()}

FN f32 clamped(const f32 x, const f32 low, const f32 high) {
    return x < low ? low : (x > high ? high : x);
}

FN f32 loss_of(GLOBAL const f32* margins, GLOBAL const f32* labels, const u32 n_rows,
               const u32 n_outputs, const u32 row, const f32 unit) {
    const f32 y = labels[row];
    const f32 margin = margins[row];
    f32 p, loss;
    (void)n_rows; /* used by some losses */
    (void)n_outputs;
    (void)unit;
    ${link}
    ${row_loss}
    return loss;
}

<%def name="for_rows()">
% if wg_size == 1:
    f32 losses[64]; /* a batch: the first loop is vectorised, the second is not */
    for (u32 at = begin; at < end; at += 64) {
        const u32 n = end - at < 64 ? end - at : 64;
        for (u32 i = 0; i < n; i++)
            losses[i] = loss_of(margins, labels, n_rows, n_outputs, at + i, unit);
        for (u32 i = 0; i < n; i++) {
            const u32 row = at + i, loss = as_u32(losses[i]);
            ${caller.body()}
        }
    }
% else:
    for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size}) {
        const u32 loss = as_u32(loss_of(margins, labels, n_rows, n_outputs, row, unit));
        ${caller.body()}
    }
% endif
</%def>

KERNEL(${wg_size}) largest_loss(
        const u32 n_rows, const u32 n_outputs, const f32 unit,
        GLOBAL const f32* RESTRICT margins,
        GLOBAL const f32* RESTRICT labels, GLOBAL const f32* RESTRICT weights,
        GLOBAL u32* RESTRICT largest) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
    u32 most = 0;
<%self:for_rows>
        const u32 key = key_of(loss, ${weight});
        (void)row;
        most = key > most ? key : most;
</%self:for_rows>
    most = group_largest(most, shared);
    if (LOCAL_ID == 0) largest[GROUP_ID] = most;
}

/* results[first + 4] becomes the largest key of all rows. */
KERNEL(${wg_size}) sum_losses(
        const u32 n_rows, const u32 n_outputs, const f32 unit,
        GLOBAL const f32* RESTRICT margins,
        GLOBAL const f32* RESTRICT labels, GLOBAL const f32* RESTRICT weights,
        GLOBAL const u32* RESTRICT largest, const u32 first, GLOBAL i64* RESTRICT sums,
        GLOBAL i64* RESTRICT results) {
    LOCAL_ARRAY(i64, shared, ${wg_size});
    LOCAL_ARRAY(u32, keys, ${wg_size});
    u32 most = 0;
    for (u32 i = LOCAL_ID; i < N_GROUPS; i += ${wg_size})
        most = largest[i] > most ? largest[i] : most;
    most = group_largest(most, keys);
    if (GROUP_ID == 0 && LOCAL_ID == 0) results[first + 4] = most;
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = most < INFINITE ? (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS) : begin;
    limbs_t sum;
    sum.limb0 = sum.limb1 = sum.limb2 = 0;
<%self:for_rows>
        (void)row;
        add_product(loss, ${weight}, most, &sum);
</%self:for_rows>
    keep_limbs(sum.limb0, sum.limb1, sum.limb2, 0, shared, sums);
}
${limbs.total("total_losses", wg_size)}
