## quanta_ahead: a row's next quanta and their sums, where its margin changes; `update_margins` imports it
##
##   scale of the tree grown last --> quanta ahead, scale_ahead
##   exponent counts --quantize_gradients--> scale of the next tree: quanta again, if it is another one
##
##   A scale is a power of two, which few rounds change. Rows have no weights, and each output has one tree.
<%namespace name="group" file="group.cl.mako"/>

<%def name="functions(wg_size)">
${group.sum("group_sum", "i64", wg_size)}
</%def>

<%def name="parameters()">GLOBAL const scale_t* RESTRICT scale, GLOBAL i32x2* RESTRICT scale_ahead,
        GLOBAL i32x2* RESTRICT quanta, const u32 n_sums, GLOBAL i64* RESTRICT sums</%def>

## Before the rows. There are sums of n_sums groups, which may be more than the launch has.
<%def name="begin(wg_size)">\
    LOCAL_ARRAY(i64, shared, ${wg_size});
    scale += GROUP_ID_Y;
    quanta += (u64)GROUP_ID_Y * n_rows;
    sums += 2 * (u64)GROUP_ID_Y * n_sums;
    if (GROUP_ID == 0) {
        for (u32 i = 2 * N_GROUPS + LOCAL_ID; i < 2 * n_sums; i += ${wg_size}) sums[i] = 0;
        if (LOCAL_ID == 0) scale_ahead[GROUP_ID_Y] = MAKE_I32X2(scale->wide ? NO_SCALE : scale->g, scale->h);
    }
    const f32 unit_g = power_of_two(scale->g), unit_h = power_of_two(scale->h);
    i64 sum_g = 0, sum_h = 0;
</%def>

## Quanta of g and h. As in `quantize_gradients`, products are exact, and a Hessian has at least 1 quantum.
<%def name="write()">\
        const i32 own_g = round_to_i32(g * unit_g), rounded_h = round_to_i32(h * unit_h);
        const i32 own_h = rounded_h < 1 ? 1 : rounded_h;
        quanta[row] = MAKE_I32X2(own_g, own_h);
        sum_g += own_g, sum_h += own_h;
</%def>

## Behind the rows.
<%def name="end()">\
    sum_g = group_sum(sum_g, shared);
    sum_h = group_sum(sum_h, shared);
    if (LOCAL_ID == 0) sums[2 * GROUP_ID] = sum_g, sums[2 * GROUP_ID + 1] = sum_h;
</%def>
