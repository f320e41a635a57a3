## sample_border: the importance of a row, and the importance above which rows are always drawn
##
##   s      ..|13|27|54|20|2|      rows are counted by importance in classes, 8 for each power of two;
##          <- by chance | always ->           the border is found from these counts
##
## method: goss or gradient_based, as in `sample`; n_classes, of importance

<%def name="of_importance(method, n_classes)">
#define FAR 1.2676506e30f  /* 2^100 */
#define NEAR 7.8886091e-31f

FN f32 size_of(const f32 x) { return x < 0.0f ? -x : x; }

/* The importance of a row, 0 or within 2^-100 .. 2^101. */
FN f32 importance(const f32 g, const f32 h, const f32 root_lambda) {
% if method == "goss":
    f32 a = size_of(g), b = size_of(h); /* each within 2^-50 .. 2^50 */
    a = a > 1.1258999e15f ? 1.1258999e15f : a;
    b = b > 1.1258999e15f ? 1.1258999e15f : b;
    (void)root_lambda;
    if (a < 8.8817842e-16f || b < 8.8817842e-16f) return 0.0f;
    return a * b;
% else:
    const f32 a = size_of(g), b = root_lambda * size_of(h);
    f32 most = a > b ? a : b;
    const f32 least = a > b ? b : a;
    if (!(most > NEAR)) return 0.0f;
    if (most > FAR) most = FAR;
    const f32 ratio = least < most ? least * reciprocal(most) : 1.0f;
    const f32 square = ratio * ratio;
    const f32 sum = 1.0f + square;
    const f32 root = sum * portable_rsqrt(sum);
    return most * root;
% endif
}

FN u32 class_of(const f32 s) { return as_u32(s) >> 20; }

% if method == "gradient_based":
/* The importance m above which rows are always drawn, in units of 2^power. It is chosen so that about
   `rate` of the rows are drawn: if the rows of class c and above are always drawn and the others by chance,
   then m = (sum of the importances of the others) / (rate n - number of rows above class c). The border lies
   in the highest class whose lower edge is below that m, or else in the lowest class with rows.

   Sums are integers, as compilers reorder sums of floats. A row counts as the middle of its class, which is
   2^octave (17 + 2 (c mod 8)) / 16. `sum` has units of 2^octave / 2^29, so a row adds less than 2^30 of them.
   Each higher octave halves it; all that is cut off is less than 2 units, where a row has 2^29 and more.
   With less than 2^32 rows, sum < 2^62. */
FN f32 border(GLOBAL const u32* counts, const f32 rate, i32* power) {
    u32 n = 0, top = 0;
    for (u32 c = 0; c < ${n_classes}; c++) {
        n += counts[c];
        if (counts[c]) top = c;
    }
    *power = (i32)(top >> 3) - 127;
    const f32 wanted = rate * (f32)n;
    /* a class far below the top counts as 0 */
    const u32 lowest = top > 640 ? top - 640 : 1;
    u32 above = n;
    for (u32 c = 0; c < lowest; c++) above -= counts[c];
    i64 sum = 0;
    f32 m = 4.0f;
    u32 found = 0;
    for (u32 c = lowest; c <= top; c++) {
        const u32 eighth = c & 7;
        if (eighth == 0) sum >>= 1;
        if (counts[c] == 0) continue;
        above -= counts[c];
        sum += ((i64)counts[c] * (i64)(17 + 2 * eighth)) << 25;
        const f32 rest = wanted - (f32)above;
        if (rest <= 0.0f) continue;
        const f32 need = df_from_i64(sum).hi * reciprocal(rest);
        if (found && need < (f32)((8 + eighth) << 26)) continue;
        m = scale_by(need, (i32)(c >> 3) - (i32)(top >> 3) - 29);
        found = 1;
    }
    return m;
}
% else:
/* The class that contains the border of the rows that are always drawn, and the share of its rows. */
FN u32 border(GLOBAL const u32* counts, const f32 rate, f32* share) {
    u32 n = 0, above = 0;
    for (u32 c = 0; c < ${n_classes}; c++) n += counts[c];
    const f32 exact = rate * (f32)n;
    const u32 wanted = (u32)exact;
    for (u32 c = ${n_classes}; c > 0; c--) {
        const u32 here = counts[c - 1];
        if (above + here > wanted) {
            *share = (f32)(wanted - above) * reciprocal((f32)here);
            return c - 1;
        }
        above += here;
    }
    *share = 1.0f;
    return 0;
}
% endif
</%def>
