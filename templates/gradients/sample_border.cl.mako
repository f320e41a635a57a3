## sample_border: the importance of a row, and the importance above which rows are always drawn
##
##   s      ..|13|27|54|20|2|      rows are counted by importance in 2048 classes, 8 for each power of two;
##          <- by chance | always ->           the border is found from these counts
##
## method: goss or gradient_based, as in `sample`

<%def name="of_importance(method)">
#define CLASSES 2048
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
   `rate` of the rows are drawn. */
FN f32 border(GLOBAL const u32* counts, const f32 rate, i32* power) {
    u32 n = 0, top = 0;
    for (u32 c = 0; c < CLASSES; c++) {
        n += counts[c];
        if (counts[c]) top = c;
    }
    *power = (i32)(top >> 3) - 127;
    const f32 wanted = rate * (f32)n;
    /* a class far below the top counts as 0 */
    const u32 lowest = top > 640 ? top - 640 : 1;
    f32 sum = 0.0f;
    for (u32 c = lowest; c <= top; c++) {
        const f32 middle = scale_by(as_f32((c << 20) | 0x80000u), -*power);
        const f32 part = (f32)counts[c] * middle;
        sum = sum + part;
    }
    u32 above = 0;
    f32 m = 4.0f;
    for (u32 c = top; c >= lowest; c--) {
        /* suppose that rows of this class and above are always drawn, those below by chance */
        const f32 middle = scale_by(as_f32((c << 20) | 0x80000u), -*power);
        const f32 part = (f32)counts[c] * middle;
        const f32 rest = wanted - (f32)above;
        if (rest <= 0.0f) break;
        const f32 need = sum * reciprocal(rest);
        if (need < 7.8886091e-31f) break;
        m = need;
        const f32 edge = scale_by(as_f32(c << 20), -*power);
        if (need >= edge) break;
        above += counts[c];
        sum = sum - part;
        if (sum < 0.0f) sum = 0.0f;
    }
    return m;
}
% else:
/* The class that contains the border of the rows that are always drawn, and the share of its rows. */
FN u32 border(GLOBAL const u32* counts, const f32 rate, f32* share) {
    u32 n = 0, above = 0;
    for (u32 c = 0; c < CLASSES; c++) n += counts[c];
    const f32 exact = rate * (f32)n;
    const u32 wanted = (u32)exact;
    for (u32 c = CLASSES; c > 0; c--) {
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
