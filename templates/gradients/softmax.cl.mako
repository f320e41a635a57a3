## softmax: gradients and Hessians from the margins of all classes
## uses: portable_math
##
##   margins  (class, row)      a work-item takes a row. It finds the largest margin, then sums the
##     | . . r . . |            exponentials class by class, then computes every class's gradient.
##     | . . r . . |            `hessians` stores the exponentials in between
##
## params: wg_size; gradient_of_share, statements that set g and h from the share p, label and class_k
<%page args="wg_size, gradient_of_share"/>

KERNEL(${wg_size}) softmax(
        const u32 n_rows, const u32 n_classes, GLOBAL const f32* RESTRICT margins,
        GLOBAL const f32* RESTRICT labels, GLOBAL f32* RESTRICT gradients,
        GLOBAL f32* RESTRICT hessians) {
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
    for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size}) {
        f32 most = margins[row];
        for (u32 k = 1; k < n_classes; k++) {
            const f32 margin = margins[(u64)k * n_rows + row];
            most = margin > most ? margin : most;
        }
        f32 total = 0.0f;
        IN_ORDER
        for (u32 k = 0; k < n_classes; k++) {
            const f32 power = portable_exp(margins[(u64)k * n_rows + row] - most);
            hessians[(u64)k * n_rows + row] = power;
            total = total + power;
        }
        const f32 share = reciprocal(total);
        const f32 label = labels[row];
        for (u32 k = 0; k < n_classes; k++) {
            const f32 p = hessians[(u64)k * n_rows + row] * share;
            const f32 class_k = (f32)k;
            f32 g, h;
            ${gradient_of_share}
            gradients[(u64)k * n_rows + row] = g;
            hessians[(u64)k * n_rows + row] = h;
        }
    }
}
