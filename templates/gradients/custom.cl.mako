## custom: gradients of a user's own loss, and a check that they are finite
## uses: portable_math portable_log
##
##   margin, label --statements--> g, h --seen--> gradients, hessians
##                                    \
##                                     NaN or infinite: 0 instead, bad = (their number, the first's round)
##
## params: wg_size; statements that set g and h from margin and label; "" if both are given
<%page args="wg_size, statements"/>

% if statements:
FN void own_loss(const f32 margin, const f32 label, f32* gradient, f32* hessian) {
    f32 g = as_f32(0x7FC00000u), h = as_f32(0x7FC00000u); /* NaN shows that they were not set */
    ${statements}
    *gradient = g;
    *hessian = h;
}
% endif

FN int is_no_number(const f32 x) { return (as_u32(x) & 0x7F800000u) == 0x7F800000u; }

/* Whether a row's gradient and Hessian are finite; counts those that are not. */
FN int seen(const f32 g, const f32 h, const u32 number, GLOBAL u32* bad) {
    if (!is_no_number(g) && !is_no_number(h)) return 1;
    if (atomic_add_global_u32(&bad[0], 1) == 0) bad[1] = number;
    return 0;
}

% if statements:
KERNEL(${wg_size}) custom_gradients(
        const u32 n_rows, const u32 number, GLOBAL const f32* RESTRICT margins,
        GLOBAL const f32* RESTRICT labels, GLOBAL f32* RESTRICT gradients,
        GLOBAL f32* RESTRICT hessians, GLOBAL u32* RESTRICT bad) {
    for (u32 i = GROUP_ID * ${wg_size} + LOCAL_ID; i < n_rows; i += N_GROUPS * ${wg_size}) {
        f32 g, h;
        own_loss(margins[i], labels[i], &g, &h);
        const int good = seen(g, h, number, bad);
        gradients[i] = good ? g : 0.0f;
        hessians[i] = good ? h : 0.0f;
    }
}
% else:
KERNEL(${wg_size}) check_gradients(
        const u32 n_rows, const u32 number, GLOBAL f32* RESTRICT gradients,
        GLOBAL f32* RESTRICT hessians, GLOBAL u32* RESTRICT bad) {
    for (u32 i = GROUP_ID * ${wg_size} + LOCAL_ID; i < n_rows; i += N_GROUPS * ${wg_size}) {
        if (!seen(gradients[i], hessians[i], number, bad)) {
            gradients[i] = 0.0f;
            hessians[i] = 0.0f;
        }
    }
}
% endif
