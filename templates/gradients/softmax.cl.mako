## softmax: gradients and Hessians from the margins of all classes
## uses: portable_math
##
##   margins  (class, row)      a row's largest margin is found first, then its exponentials are summed class by
##     | . . r . . |            class, then every class's gradient is computed.
##     | . . r . . |            `hessians` stores the exponentials in between
##
##   A work-item takes a row. On a CPU it takes a run of rows, and each loop over them is vectorised.
##
## params: wg_size; gradient_of_share, statements that set g and h from the share p, label and class_k
<%page args="wg_size, gradient_of_share"/>
<%def name="of_class(share, label)">\
            const f32 p = hessians[(u64)k * n_rows + row] * ${share};
            const f32 class_k = (f32)k, label = ${label};
            f32 g, h;
            ${gradient_of_share}
            gradients[(u64)k * n_rows + row] = g;
            hessians[(u64)k * n_rows + row] = h;
</%def>
% if wg_size == 1:
#define RUN 256 /* rows: what is read and written of them for some classes fits a core's first cache */

/* Compute the gradients of the rows first .. first + n - 1. */
FN void gradients_of_run(const u32 first, const u32 n, const u32 n_rows, const u32 n_classes,
                         GLOBAL const f32* RESTRICT margins, GLOBAL const f32* RESTRICT labels,
                         GLOBAL f32* RESTRICT gradients, GLOBAL f32* RESTRICT hessians) {
    f32 most[RUN], total[RUN];
    WIDE for (u32 i = 0; i < n; i++) most[i] = margins[first + i], total[i] = 0.0f;
    for (u32 k = 1; k < n_classes; k++) {
        WIDE for (u32 i = 0; i < n; i++) {
            const f32 margin = margins[(u64)k * n_rows + first + i];
            most[i] = margin > most[i] ? margin : most[i];
        }
    }
    for (u32 k = 0; k < n_classes; k++) {
        WIDE for (u32 i = 0; i < n; i++) {
            const f32 power = portable_exp(margins[(u64)k * n_rows + first + i] - most[i]);
            hessians[(u64)k * n_rows + first + i] = power;
            total[i] = total[i] + power;
        }
    }
    WIDE for (u32 i = 0; i < n; i++) total[i] = reciprocal(total[i]);
    for (u32 k = 0; k < n_classes; k++) {
        WIDE for (u32 row = first; row < first + n; row++) {
${of_class("total[row - first]", "labels[row]")}\
        }
    }
}

% endif
KERNEL(${wg_size}) softmax(
        const u32 n_rows, const u32 n_classes, GLOBAL const f32* RESTRICT margins,
        GLOBAL const f32* RESTRICT labels, GLOBAL f32* RESTRICT gradients,
        GLOBAL f32* RESTRICT hessians) {
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
% if wg_size == 1:
    for (u32 first = begin; first < end; first += RUN)
        gradients_of_run(first, end - first < RUN ? end - first : RUN, n_rows, n_classes, margins, labels, gradients, hessians);
% else:
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
        const f32 share = reciprocal(total), own = labels[row];
        for (u32 k = 0; k < n_classes; k++) {
${of_class("share", "own")}\
        }
    }
% endif
}
