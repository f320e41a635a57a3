## sketch: random sums of all outputs' gradients, by which trees with vector leaves search splits
## uses: portable_math portable_log random
##
##   gradients  (output, row)         a work-item takes a row. It adds the outputs' gradients in order, with
##     | . . r . . |                  a random sign for each (sketch, output), the same for all rows
##   sketches   (sketch, row)
##
##   Hessians of sketches are 1. Iosipoi & Vakhrushev 2022, "SketchBoost"; Achlioptas 2003, "Database-friendly
##   random projections". Twin: tests/reference/sketch.py.
##
## params: wg_size; loss, statements that set g and h from margin, label and output; n_sketches;
##         first_stream, number of the random stream of the first sketch
<%page args="wg_size, loss, n_sketches, first_stream"/>
<%namespace name="losses" file="loss.cl.mako"/>
<% together = min(4, n_sketches) %>\
${losses.gradient(loss)}
/* `header[3]` is the number of rounds so far. */
KERNEL(${wg_size}) sketch(
        const u32 n_rows, const u32 n_outputs, const u64 label_stride, const u32 seed,
        GLOBAL const u32* RESTRICT header, GLOBAL const f32* RESTRICT margins,
        GLOBAL const f32* RESTRICT labels, GLOBAL f32* RESTRICT sketches, GLOBAL f32* RESTRICT hessians) {
    const u32 round = header[3];
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
    for (u32 first = 0; first < ${n_sketches}; first += ${together}) {
        u32 keys[${together}];
        for (u32 k = 0; k < ${together}; k++) keys[k] = stream(seed, round, ${first_stream}u + first + k);
        for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size}) {
            f32 sums[${together}];
            for (u32 k = 0; k < ${together}; k++) sums[k] = 0.0f;
            IN_ORDER
            for (u32 output = 0; output < n_outputs; output++) {
                f32 g, h;
                gradient(margins[(u64)output * n_rows + row], labels[output * label_stride + row], output, &g, &h);
                (void)h;
                for (u32 k = 0; k < ${together}; k++)
                    sums[k] = finite(random_bits(keys[k], output) >> 31 ? sums[k] - g : sums[k] + g);
            }
            for (u32 k = 0; k < ${together} && first + k < ${n_sketches}; k++)
                sketches[(u64)(first + k) * n_rows + row] = sums[k];
            if (first == 0) hessians[row] = 1.0f;
        }
    }
}
