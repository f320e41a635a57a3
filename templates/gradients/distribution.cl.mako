## distribution: gradients and Hessians of both parameters of a distribution, from a row's margins and label
## uses: portable_math portable_log portable_loss portable_gamma
##
##   margins       (2, row)     a work-item takes a row; gradients and Hessians have the shape of the margins
##     | . . r . . |
##     | . . r . . |
##
## params: wg_size; gradient_of_row, statements that set g, h, other_g and other_h from first, second and label
<%page args="wg_size, gradient_of_row"/>

KERNEL(${wg_size}) distribution(
        const u32 n_rows, GLOBAL const f32* RESTRICT margins, GLOBAL const f32* RESTRICT labels,
        GLOBAL f32* RESTRICT gradients, GLOBAL f32* RESTRICT hessians) {
    for (u32 row = GROUP_ID * ${wg_size} + LOCAL_ID; row < n_rows; row += N_GROUPS * ${wg_size}) {
        const f32 first = margins[row], second = margins[(u64)n_rows + row];
        const f32 given = labels[row];
        const f32 label = as_u32(given) & 0x7F800000u ? given : 0.0f; /* some devices flush subnormals */
        f32 g, h, other_g, other_h;
        ${gradient_of_row}
        gradients[row] = g;
        gradients[(u64)n_rows + row] = other_g;
        hessians[row] = h;
        hessians[(u64)n_rows + row] = other_h;
    }
}
