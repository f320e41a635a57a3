## finished_rows: from quanta to float64, by integers alone; a library of `contributions` and `contribution_tables`
##
##   finish_rows   a row's base, sum and largest contribution
##   finish_lines  lines of interactions, whose diagonal is the contribution less the rest of the line
##
## A row's quantum is 2^-(bits - shift); docs/contributions.md has the rule. The host adds what the sum differs from the
## margin.
<%page args=""/>
<%def name="kernels(wg_size, interactions)">\
/* q / 2^shift, rounded to the nearest, ties to even. */
FN i64 shifted_quanta(const i64 q, const u32 shift) {
    if (!shift) return q;
    const u32 few = shift < 62 ? shift : 62;
    const i64 down = q >> few;
    const i64 rest = q - (i64)((u64)down << few);
    const i64 middle = (i64)1 << (few - 1);
    return down + (rest > middle || (rest == middle && (down & 1)));
}

/* The bits of q * 2^-bits as float64, rounded to the nearest, ties to even. */
FN i64 float64_bits(const i64 q, const i32 bits) {
    const u64 a = q < 0 ? 0 - (u64)q : (u64)q;
    if (!a) return 0;
    u32 top = 0; /* place of the highest bit */
% for step in (32, 16, 8, 4, 2, 1):
    if (a >> top >> ${step}) top += ${step};
% endfor
    u64 digits = a << (top < 52 ? 52 - top : 0);
    if (top > 52) {
        const u32 few = top - 52;
        const u64 rest = a & (((u64)1 << few) - 1);
        const u64 middle = (u64)1 << (few - 1);
        digits = a >> few;
        digits += rest > middle || (rest == middle && (digits & 1));
    }
    const u64 exponent = (u64)(u32)(1022 + (i32)top - bits); /* the highest digit adds 1 */
    return (i64)((q < 0 ? (u64)1 << 63 : (u64)0) + (exponent << 52) + digits);
}

/* Row i has n_told numbers; of columns, those at multiples of `step`. starts[i % n_starts]: quanta of the base.
   totals[i] = (sum of the columns and the base, the largest contribution, its column); the base if all are 0. */
KERNEL(${wg_size}) finish_rows(
        const u64 n, const u32 width, const u32 n_told, const u32 step, const i32 bits, const u32 n_starts,
        GLOBAL const i64* RESTRICT starts, GLOBAL const u32* RESTRICT shifts, GLOBAL i64* RESTRICT found,
        GLOBAL i64* RESTRICT totals) {
    for (u64 i = GLOBAL_ID; i < n; i += (u64)N_GROUPS * ${wg_size}) {
        GLOBAL i64* own = found + i * n_told;
        const u32 shift = shifts[i % n_starts];
        const i64 base = starts[i % n_starts];
        i64 sum = base, largest = base;
        u64 most = 0;
        u32 column = width - 1;
        for (u32 j = 0; j < width; j++) {
            const i64 q = j < width - 1 ? shifted_quanta(own[j * step], shift) : base;
            own[j * step] = ${"q" if interactions else "float64_bits(q, bits - (i32)shift)"};
            if (j == width - 1) break;
            sum += q;
            const u64 a = q < 0 ? 0 - (u64)q : (u64)q;
            if (a > most) most = a, largest = q, column = j;
        }
        totals[3 * i] = sum;
        totals[3 * i + 1] = largest;
        totals[3 * i + 2] = column;
    }
}
% if interactions:

/* A line of a matrix; its diagonal has quanta already. */
KERNEL(${wg_size}) finish_lines(
        const u64 n_lines, const u32 width, const i32 bits, const u32 n_starts, GLOBAL const u32* RESTRICT shifts,
        GLOBAL i64* RESTRICT found) {
    for (u64 i = GLOBAL_ID; i < n_lines; i += (u64)N_GROUPS * ${wg_size}) {
        GLOBAL i64* own = found + i * width;
        const u32 shift = shifts[i / width % n_starts];
        const u32 line = (u32)(i % width);
        i64 others = 0; /* a sum: Intel's compiler for CPUs changes the sign of a loop's differences */
        for (u32 j = 0; j < width; j++) {
            if (j == line) continue;
            const i64 q = shifted_quanta(own[j], shift);
            others += q;
            own[j] = float64_bits(q, bits - (i32)shift);
        }
        own[line] = float64_bits(own[line] - others, bits - (i32)shift);
    }
}
% endif
</%def>
