## position_bias: weights of positions for the next round, from the losses of pairs by position
## uses: portable_math portable_log
##
##   query 0   a b c d        sums   a+e+h  b+f+i  c+g  d     one for pairs in which the row is better,
##   query 1   e f g                                          one for those in which it is worse
##   query 2   h i            inverse = (first / sum)^power   (integers, so any order gives equal bits)
##
##   Hu et al. 2019, "Unbiased LambdaMART", eq. 30 and 31: t+ and t- are 1 / `inverse`.
##
## params: wg_size
<%page args="wg_size"/>
<%namespace name="group" file="group.cl.mako"/>
${group.sum("group_sum", "i64", wg_size)}

/* sums[side, position]: losses of all rows at a position, in fixed point; one work-group for each */
KERNEL(${wg_size}) sum_losses(
        const u32 n_rows, const u32 n_queries, const i32 scale,
        GLOBAL const u32* RESTRICT offsets, GLOBAL const f32* RESTRICT losses,
        GLOBAL i64* RESTRICT sums) {
    LOCAL_ARRAY(i64, shared, ${wg_size});
    const u32 position = GROUP_ID, side = GROUP_ID_Y;
    i64 sum = 0;
    for (u32 q = LOCAL_ID; q < n_queries; q += ${wg_size}) {
        const u32 row = offsets[q] + position;
        if (row < offsets[q + 1]) {
            const f32 loss = losses[(u64)side * n_rows + row];
            sum += to_quanta(loss > 65536.0f ? 65536.0f : loss, scale);
        }
    }
    sum = group_sum(sum, shared);
    if (LOCAL_ID == 0) sums[side * N_GROUPS + position] = sum;
}

/* inverse[side, position] = (sum of position 0 / sum of position) ^ power, 0 if the sum is 0 */
KERNEL(${wg_size}) update_bias(
        const u32 n_positions, const i32 scale, const f32 power, GLOBAL const i64* RESTRICT sums,
        GLOBAL f32* RESTRICT inverse) {
    for (u32 i = GROUP_ID * ${wg_size} + LOCAL_ID; i < 2 * n_positions; i += N_GROUPS * ${wg_size}) {
        const i64 first = sums[i < n_positions ? 0 : n_positions];
        if (first < 1) continue;
        const f32 unit = scale_by(df_from_i64(first).hi, -scale);
        const f32 ratio = scale_by(df_from_i64(sums[i]).hi, -scale) * reciprocal(unit);
        const f32 t = portable_exp(portable_log(ratio) * power);
        f32 inverted = reciprocal(t);
        if (inverted > 1048576.0f) inverted = 1048576.0f;
        if (inverted < 9.53674316e-07f) inverted = 9.53674316e-07f;
        inverse[i] = sums[i] > 0 ? inverted : 0.0f;
    }
}
