## gradients: gradients and Hessians in fixed point from margins and labels, with one scale for a tree
## uses: portable_math portable_log structs quantum_scale
## uses if counted: random counted_quanta
## uses if squared: squares
##
##   margin, label --gradients--> number of rows with each exponent
##   exponent counts --quantize_gradients--> 2^scale.g, 2^scale.h, then quanta
##
##   With `ahead`, quanta and sums may have been written where the margins changed, see `quanta_ahead`. If that was by the
##   same scale, `quantize_gradients` leaves them as they are.
##
##   Gradients are computed twice instead of stored, as memory traffic would cost more.
##
##   quanta[row] = (g, h) low words, high[row] = (g, h) high words: q = high * 2^32 + low.
##   High words are 0, and not written, unless scale.wide is set. Few data sets need them, so memory for
##   them (has_high) is allocated only after a tree needed them.
##
##   Work-groups with GROUP_ID_Y = t compute tree t of the batch. Several trees may belong to one output
##   (for example a class); they read its margins and labels.
##
## params: wg_size; loss, statements that set g and h from margin, label and output; weighted;
##         sampled, whether gradients are multiplied by `factors`; rows with factor 0 do not count;
##         n_exponents, counts of a tree, see `exponents`; counted, sums of quanta tell the number of rows;
##         squared, squares of gradients are added up, for noise in scores; clears, the histograms of roots may have to be
##         cleared; ahead, quanta may be there already
<%page args="wg_size, loss, weighted, sampled, n_exponents, counted, squared, clears, ahead"/>
<%namespace name="exponents" file="exponents.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="losses" file="loss.cl.mako"/>
<%namespace name="quanta" file="quanta.cl.mako"/>
${group.sum("group_sum", "i64", wg_size)}

${losses.gradient(loss)}
## Gradients of the rows at .. at + n - 1, at most 64: a loop of its own, which compilers vectorise.
<%def name="batch(sampled)">\
        WIDE for (u32 i = 0; i < n; i++) {
            f32 g, h;
            gradient(margins[at + i], labels[at + i], output, &g, &h);
            gs[i] = ${"finite(g * factors[at + i])" if sampled else "g"};
            hs[i] = ${"finite(h * factors[at + i])" if sampled else "h"};
        }
</%def>
/* `exponents` is 0 when a tree begins. */
KERNEL(${wg_size}) gradients(
        const u32 n_rows, const u32 first_tree, const u32 n_parallel, const u64 label_stride,
        GLOBAL const f32* RESTRICT margins, GLOBAL const f32* RESTRICT labels,
% if weighted:
        GLOBAL const f32* RESTRICT weights,
% endif
% if sampled:
        const u32 n_draws, GLOBAL const f32* RESTRICT factors,
% endif
        ${"GLOBAL i32x2* RESTRICT scale_ahead, " if ahead else ""}GLOBAL u32* exponents) {
    LOCAL_ARRAY(u32, counts, ${n_exponents});
% if ahead:
    if (GROUP_ID == 0 && LOCAL_ID == 0) scale_ahead[GROUP_ID_Y].x = NO_SCALE;
% endif
    const u32 output = (first_tree + GROUP_ID_Y) / n_parallel;
    margins += (u64)output * n_rows;
    labels += output * label_stride;
    exponents += ${n_exponents} * GROUP_ID_Y;
% if sampled:
    factors += (u64)(GROUP_ID_Y % n_draws) * n_rows;
% endif
    for (u32 i = LOCAL_ID; i < ${n_exponents}; i += ${wg_size}) counts[i] = 0;
    BARRIER();
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
% if wg_size == 1:
    u32 copies[4 * ${n_exponents}];
    for (u32 i = 0; i < 4 * ${n_exponents}; i++) copies[i] = 0;
    f32 gs[64], hs[64]; /* a batch: the gradients' loop is vectorised, the counts' loop is not */
    for (u32 at = begin; at < end; at += 64) {
        const u32 n = end - at < 64 ? end - at : 64;
${batch(sampled)}\
        for (u32 i = 0; i < n; i++) {
% if weighted:
            if (as_u32(weights[at + i]) == 0) continue;
% endif
            const u32 one = ${"as_u32(factors[at + i]) != 0 /* avoids a branch that is hard to predict */" if sampled else "1"};
            /* four copies: neighbours rarely wait for each other's additions */
            copies[${n_exponents} * (i % 4) + ((as_u32(gs[i]) >> 23) & 0xFF)] += one;
            copies[${n_exponents} * (i % 4) + ${n_exponents // 2} + ((as_u32(hs[i]) >> 23) & 0xFF)] += one;
        }
    }
    for (u32 i = 0; i < ${n_exponents}; i++)
        counts[i] = ${" + ".join(f"copies[{k * n_exponents} + i]" for k in range(4))};
% else:
    for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size}) {
% if weighted:
        if (as_u32(weights[row]) == 0) continue;
% endif
% if sampled:
        if (as_u32(factors[row]) == 0) continue;
% endif
        f32 g, h;
        gradient(margins[row], labels[row], output, &g, &h);
% if sampled:
        g = finite(g * factors[row]);
        h = finite(h * factors[row]);
% endif
${exponents.count(n_exponents)}\
    }
% endif
${exponents.add_counts(wg_size, n_exponents)}\
}

KERNEL(${wg_size}) quantize_gradients(
        const u32 n_rows, const u32 first_tree, const u32 n_parallel, const u64 label_stride,
        const i32 weight_bits, const i32 weight_shift,${" const u32 root_cells," if clears else ""}
        const u32 has_high, const u32 adds,${" const u32 first_id, const u32 count_bits, const u32 least_rows," if counted else ""}
        GLOBAL u32* RESTRICT needs_high,
        GLOBAL const f32* RESTRICT margins, GLOBAL const f32* RESTRICT labels,
% if weighted:
        GLOBAL const f32* RESTRICT weights,
% endif
% if sampled:
        const u32 n_draws, GLOBAL const f32* RESTRICT factors,
% endif
        GLOBAL const u32* RESTRICT exponents,${" GLOBAL const i32x2* RESTRICT scale_ahead," if ahead else ""}
        GLOBAL scale_t* RESTRICT scale, GLOBAL i32* RESTRICT quanta, GLOBAL i32* RESTRICT high,
        GLOBAL i64* RESTRICT sums${", GLOBAL i64* RESTRICT squares" if squared else ""}${", GLOBAL i64* RESTRICT pool" if clears else ""}) {
    LOCAL_ARRAY(i64, shared, ${wg_size});
    LOCAL_ARRAY(u32, counts, ${n_exponents});
    LOCAL_ARRAY(i32, powers, 2);
    LOCAL_ARRAY(u32, wides, 2);
    const u32 tree = GROUP_ID_Y, output = (first_tree + tree) / n_parallel;
    margins += (u64)output * n_rows;
    labels += output * label_stride;
    exponents += ${n_exponents} * tree;
    scale += tree;
    quanta += 2 * (u64)tree * n_rows;
    if (has_high) high += 2 * (u64)tree * n_rows;
    sums += 2 * (u64)tree * N_GROUPS;
% if squared:
    squares += (u64)tree * N_GROUPS;
    i64 sum_squares = 0;
% endif
% if sampled:
    factors += (u64)(tree % n_draws) * n_rows;
% endif
    /* every group computes the scale; a separate launch would take longer */
    for (u32 i = LOCAL_ID; i < ${n_exponents}; i += ${wg_size}) counts[i] = exponents[i];
    BARRIER();
${exponents.scale_exponents(wg_size, n_exponents)}\
    const u32 wide = has_high ? wides[0] | wides[1] : 0;
    if (GROUP_ID == 0 && LOCAL_ID == 0) {
        if (!has_high && (wides[0] | wides[1])) *needs_high = 1; /* this tree is invalid */
        scale->g = scale_g;
        scale->h = scale_h;
        scale->wide = wide;
        scale->weight_shift = weight_shift;
% if counted:
        scale->count_bits = count_bits;
        scale->least_rows = least_rows;
% endif
    }
% if clears:
    GLOBAL i64* cells = pool + (u64)tree * root_cells; /* the root's histogram */
    for (u32 i = GROUP_ID * ${wg_size} + LOCAL_ID; i < root_cells; i += N_GROUPS * ${wg_size}) cells[i] = 0;
% endif
% if ahead:
    const u32 are_ahead = !(wides[0] | wides[1]) && scale_ahead[tree].x == scale_g && scale_ahead[tree].y == scale_h;
% endif
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = ${"are_ahead ? begin : " if ahead else ""}(u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
    i64 sum_g = 0, sum_h = 0;
% if not weighted and not counted:
    const f32 unit_g = power_of_two(scale_g), unit_h = power_of_two(scale_h);
% endif
% if wg_size == 1:
    f32 gs[64], hs[64];
    for (u32 at = begin; at < end; at += 64) {
        const u32 n = end - at < 64 ? end - at : 64;
${batch(sampled)}\
${quanta.quanta("at", "at + n", wg_size, weighted, sampled, counted, squared)}\
    }
% else:
${quanta.quanta("begin", "end", wg_size, weighted, sampled, counted, squared)}\
% endif
    sum_g = group_sum(sum_g, shared);
    sum_h = group_sum(sum_h, shared);
    if (LOCAL_ID == 0${" && !are_ahead" if ahead else ""}) {
        /* with `adds`, to those of other pages */
        sums[2 * GROUP_ID] = sum_g + (adds ? sums[2 * GROUP_ID] : 0);
        sums[2 * GROUP_ID + 1] = sum_h + (adds ? sums[2 * GROUP_ID + 1] : 0);
    }
% if squared:
    sum_squares = group_sum(sum_squares, shared);
    if (LOCAL_ID == 0) squares[GROUP_ID] = sum_squares + (adds ? squares[GROUP_ID] : 0);
% endif
}
