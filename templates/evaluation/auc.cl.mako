## auc: area under the ROC or precision-recall curve, as sums of integers
## uses: portable_math portable_log portable_loss
##
##   class_shares  for classes: a row's largest margin, and 1 / (the sum of its exponentials)
##   curve_keys    prediction, and the row's integer weight: positive for label 1, negative for label 0;
##                 for classes, the probability of class k, and class k against the others
##   (radix sort)  keys     .1 .1 .3 .3 .3 .7        weights   -1 +1 +1 -1 +1 +1
##   curve_pairs   if weighted: separate weights of label 1 and of label 0
##   (scan)        sums     -1  0 +1  0 +1 +2        without weights, sum i is p - q, and p + q = i + 1
##   curve_area    at the last row of each run of equal keys: a trapezoid, from (p, q) before the run
##                 to (p, q) after it; the run's start is found by steps that double
##   total_areas   the sum over work-groups
##
##   auc     p grows by dp, q from q0 to q1: twice the area is dp (q0 + q1)
##   aucpr   as the threshold falls, t positives of s rows become t + dt of s + ds. The area is dt times
##           the mean precision, (t L(u) + dt M(u)) / s with u = ds / s, L = ln(1 + u) / u,
##           M = (u - ln(1 + u)) / u^2
##
## params: wg_size; link, statements that set the prediction p from margin; weighted; curve (auc, aucpr);
##   classes, whether rows have a margin for each class
<%page args="wg_size, link, weighted, curve, classes"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="limbs" file="limbs.cl.mako"/>
<% whole = "i64" if weighted else "i32" %>
${group.sum("group_sum", "i64", wg_size)}
${limbs.keep(wg_size)}

% if classes:
/* The sums have the same order as in training's softmax. */
KERNEL(${wg_size}) class_shares(
        const u32 n_rows, const u32 n_classes, GLOBAL const f32* RESTRICT margins,
        GLOBAL f32* RESTRICT most, GLOBAL f32* RESTRICT shares) {
    for (u64 row = GLOBAL_ID; row < n_rows; row += (u64)N_GROUPS * ${wg_size}) {
        f32 largest = margins[row];
        for (u32 k = 1; k < n_classes; k++) {
            const f32 margin = margins[(u64)k * n_rows + row];
            largest = margin > largest ? margin : largest;
        }
        f32 total = 0.0f;
        IN_ORDER
        for (u32 k = 0; k < n_classes; k++)
            total = total + portable_exp(margins[(u64)k * n_rows + row] - largest);
        most[row] = largest;
        shares[row] = reciprocal(total);
    }
}

% endif
KERNEL(${wg_size}) curve_keys(
        const u32 n_rows, const i32 power, GLOBAL const f32* RESTRICT margins,
        GLOBAL const f32* RESTRICT labels, GLOBAL const f32* RESTRICT weights,
% if classes:
        const u32 k, GLOBAL const f32* RESTRICT most, GLOBAL const f32* RESTRICT shares,
% endif
        GLOBAL f32* RESTRICT keys, GLOBAL ${whole}* RESTRICT wholes) {
    for (u64 row = GLOBAL_ID; row < n_rows; row += (u64)N_GROUPS * ${wg_size}) {
% if classes:
        keys[row] = portable_exp(margins[(u64)k * n_rows + row] - most[row]) * shares[row];
        const int positive = labels[row] == (f32)k;
% else:
        const f32 margin = margins[row];
        f32 p;
        ${link}
        keys[row] = p;
        const int positive = labels[row] > 0.0f;
% endif
        const ${whole} weight = ${"to_quanta(weights[row], power)" if weighted else "1"};
        wholes[row] = positive ? weight : -weight;
    }
}
% if weighted:

KERNEL(${wg_size}) curve_pairs(
        const u32 n_rows, GLOBAL const i64* RESTRICT wholes, GLOBAL i64* RESTRICT pairs) {
    for (u64 row = GLOBAL_ID; row < n_rows; row += (u64)N_GROUPS * ${wg_size}) {
        const i64 whole = wholes[row];
        pairs[2 * row] = whole > 0 ? whole : 0;
        pairs[2 * row + 1] = whole > 0 ? 0 : -whole;
    }
}
% endif

/* Weights of label 1 (p) and of label 0 (q) among the first n rows. */
FN void before(GLOBAL const ${whole}* cumulated, const u64 n, i64* p, i64* q) {
    *p = *q = 0;
    if (n == 0) return;
% if weighted:
    *p = cumulated[2 * n - 2];
    *q = cumulated[2 * n - 1];
% else:
    const i64 difference = cumulated[n - 1];
    *p = ((i64)n + difference) / 2;
    *q = ((i64)n - difference) / 2;
% endif
}

FN int same(GLOBAL const f32* keys, const u64 a, const u64 b) {
    return ordered(keys[a]) == ordered(keys[b]);
}

/* The first row of the run that ends at `last`. */
FN u64 run_begin(GLOBAL const f32* keys, const u64 last) {
    u64 first = last, step = 1;
    while (first >= step && same(keys, first - step, last)) {
        first -= step;
        step *= 2;
    }
    for (; step > 0; step /= 2)
        if (first >= step && same(keys, first - step, last)) first -= step;
    return first;
}
% if curve == "aucpr":

FN f32 as_float_of(const i64 x) { return df_from_i64(x).hi; }

/* Mean precision, in units of 2^-60, while t of s rows become t + dt of s + ds; dt > 0. */
FN i64 mean_precision(const i64 t, const i64 s, const i64 dt, const i64 ds) {
    if (t + dt == s + ds) return (i64)1 << 60;
    const f32 grown = as_float_of(dt), steps = as_float_of(ds);
    const f32 per = reciprocal(as_float_of(s > 0 ? s : 1));
    const f32 u = steps * per;
    const f32 per_u = reciprocal(u);
    const f32 of_t = portable_log1p(u) * per_u;
    const f32 second = minus_log1p(u) * per_u;
    const f32 of_dt = u < 9.09494702e-13f ? 0.5f : second * per_u;
    const f32 share_t = as_float_of(t) * per, share_dt = grown * per;
    const f32 a = share_t * of_t, b = share_dt * of_dt;
    const f32 mean = s == 0 ? grown * reciprocal(steps) : a + b;
    return to_quanta(mean > 1.0f ? 1.0f : mean, 60);
}
% endif

/* all_p, all_q: weights of all rows; cumulated: pairs if weighted, else differences. */
KERNEL(${wg_size}) curve_area(
        const u32 n_rows, const i64 all_p, const i64 all_q, GLOBAL const f32* RESTRICT keys,
        GLOBAL const ${whole}* RESTRICT cumulated, GLOBAL i64* RESTRICT sums) {
    LOCAL_ARRAY(i64, shared, ${wg_size});
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
    i64 limb0 = 0, limb1 = 0, limb2 = 0, limb3 = 0;
    for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size}) {
        if (row + 1 < n_rows && same(keys, row, row + 1)) continue;
        i64 p0, q0, p1, q1;
        before(cumulated, run_begin(keys, row), &p0, &q0);
        before(cumulated, (u64)row + 1, &p1, &q1);
        if (p1 == p0) continue;
        const u64 a = (u64)(p1 - p0);
% if curve == "auc":
        const u64 b = (u64)(q0 + q1);
% else:
        const i64 t = all_p - p1, f = all_q - q1;
        const u64 b = (u64)mean_precision(t, t + f, p1 - p0, p1 - p0 + q1 - q0);
% endif
        const u64 a0 = a & 0xFFFFFFFFu, a1 = a >> 32, b0 = b & 0xFFFFFFFFu, b1 = b >> 32;
        const u64 p00 = a0 * b0, p01 = a0 * b1, p10 = a1 * b0, p11 = a1 * b1;
        const u64 middle = (p00 >> 32) + (p01 & 0xFFFFFFFFu) + (p10 & 0xFFFFFFFFu);
        const u64 upper = p11 + (p01 >> 32) + (p10 >> 32) + (middle >> 32);
        limb0 += (i64)(p00 & 0xFFFFFFFFu);
        limb1 += (i64)(middle & 0xFFFFFFFFu);
        limb2 += (i64)(upper & 0xFFFFFFFFu);
        limb3 += (i64)(upper >> 32);
    }
    keep_limbs(limb0, limb1, limb2, limb3, shared, sums);
}
${limbs.total("total_areas", wg_size)}
