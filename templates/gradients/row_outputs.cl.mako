## row_outputs: gradients and Hessians of all outputs of a row, from all of its margins and its label
## uses: portable_math portable_log portable_loss portable_gamma
##
##   margins  (output, row)     a work-item takes a row; gradients and Hessians have the shape of the margins
##     | . . r . . |
##     | . . r . . |
##
## params: wg_size; n_outputs; gradient_of_row, statements that set g0, h0, g1, h1, ... from margin0, margin1, ... and label
<%page args="wg_size, n_outputs, gradient_of_row"/>

KERNEL(${wg_size}) row_outputs(
        const u32 n_rows, GLOBAL const f32* RESTRICT margins, GLOBAL const f32* RESTRICT labels,
        GLOBAL f32* RESTRICT gradients, GLOBAL f32* RESTRICT hessians) {
    for (u32 row = GROUP_ID * ${wg_size} + LOCAL_ID; row < n_rows; row += N_GROUPS * ${wg_size}) {
% for k in range(n_outputs):
        const f32 margin${k} = margins[${k} * (u64)n_rows + row];
% endfor
        const f32 given = labels[row];
        const f32 label = as_u32(given) & 0x7F800000u ? given : 0.0f; /* some devices flush subnormals */
        f32 ${", ".join(f"g{k}, h{k}" for k in range(n_outputs))};
        ${gradient_of_row}
% for k in range(n_outputs):
        gradients[${k} * (u64)n_rows + row] = g${k};
        hessians[${k} * (u64)n_rows + row] = h${k};
% endfor
    }
}
