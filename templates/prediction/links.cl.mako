## links: margins become predictions, in place, with the bits of the host's functions
## uses: portable_math
##
##   exponential   e^margin
##   sigmoid       1 / (1 + e^-margin)
##   softmax       (class, row): shares of e^margin among the classes of a row, summed class by class
##
##   Twins: numerics/portable_math.py, objectives/classification.py.
##
## params: wg_size
<%page args="wg_size"/>
% for name, function in (("exponential", "portable_exp"), ("sigmoid", "portable_sigmoid")):
KERNEL(${wg_size}) ${name}(const u64 n, GLOBAL f32* RESTRICT margins) {
    const u64 begin = n * GROUP_ID / N_GROUPS, end = n * (GROUP_ID + 1) / N_GROUPS;
    for (u64 i = begin + LOCAL_ID; i < end; i += ${wg_size}) margins[i] = ${function}(margins[i]);
}

% endfor
KERNEL(${wg_size}) softmax(const u64 n, const u32 n_classes, GLOBAL f32* RESTRICT margins) {
    const u64 begin = n * GROUP_ID / N_GROUPS, end = n * (GROUP_ID + 1) / N_GROUPS;
    for (u64 row = begin + LOCAL_ID; row < end; row += ${wg_size}) {
        f32 most = margins[row];
        for (u32 k = 1; k < n_classes; k++) {
            const f32 margin = margins[k * n + row];
            most = margin > most ? margin : most;
        }
        f32 total = 0.0f;
        IN_ORDER
        for (u32 k = 0; k < n_classes; k++) {
            const f32 power = portable_exp(margins[k * n + row] - most);
            margins[k * n + row] = power;
            total = total + power;
        }
        const f32 share = reciprocal(total);
        for (u32 k = 0; k < n_classes; k++) margins[k * n + row] = margins[k * n + row] * share;
    }
}
