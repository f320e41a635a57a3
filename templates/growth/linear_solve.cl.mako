## linear_solve: the kernels solve and list_terms; linear_leaves imports them
##
##   equations   | z h z + ridge on features | 2^40 z g |      upper triangle, pairs of floats
##   solve       a pivot after the other, in the order of the features; each entry takes its terms in that order
##
##   A feature that those before it explain to within 4 quanta, in the quadratic mean of the rows, is left out: the
##   equations would not tell its coefficient. So a leaf whose equations are singular has fewer terms, or none.

<%def name="solve(wg_size, most, most_sums)">
/* x without what no result needs, so that no device meets a subnormal number. */
FN df tidy(const df x) {
    const f32 hi = x.hi < 9.5367432e-7f && x.hi > -9.5367432e-7f ? 0.0f : x.hi; /* 2^-20 */
    const int none = as_u32(hi) << 1 == 0 || (x.lo < 8.4703295e-22f && x.lo > -8.4703295e-22f); /* 2^-70 */
    return df_make(hi, none ? 0.0f : x.lo);
}

/* a / b for b > 0; 0 below 2^-40. */
FN df ratio(const df a, const df b) {
    const f32 size = a.hi < 0.0f ? -a.hi : a.hi;
    const f32 least = b.hi * 9.0949470e-13f;
    return size < least ? df_make(0.0f, 0.0f) : tidy(df_div(a, b));
}

FN f32 ridge_of(const f32 linear_lambda, const i32 power) {
    const f32 scaled = scale_by(not_tiny(linear_lambda), power);
    return scaled > 1.2676506e30f ? 1.2676506e30f : scaled; /* 2^100 */
}

FN int is_finite(const f32 x) { return (as_u32(x) & 0x7F800000u) != 0x7F800000u; }

/* The unknown i of the equations of n features, of which those behind it are known. Those of the equations lie in hi
   and lo, n + 2 in a row. */
FN df unknown(const u32 i, const u32 n, LOCAL const f32* hi, LOCAL const f32* lo, LOCAL const f32* known_hi,
              LOCAL const f32* known_lo) {
    const u32 row = i * (n + 2);
    df rest = df_make(hi[row + n + 1], lo[row + n + 1]);
    IN_ORDER
    for (u32 k = i + 1; k <= n; k++) {
        if (as_u32(known_hi[k]) << 1 == 0) continue;
        const df taken = df_mul(df_make(hi[row + k], lo[row + k]), df_make(known_hi[k], known_lo[k]));
        rest = tidy(df_add(rest, df_neg(taken)));
    }
    return ratio(rest, df_make(hi[row + i], lo[row + i]));
}

/* Take pivot i from the rows behind it; a pivot that is not kept takes nothing. */
FN void eliminate(const u32 i, const u32 n, const int kept, LOCAL f32* hi, LOCAL f32* lo, LOCAL f32* factor_hi,
                  LOCAL f32* factor_lo) {
    const u32 width = n + 2, n_sums = sums_of(n);
    const df pivot = df_make(hi[i * width + i], lo[i * width + i]);
    for (u32 j = i + 1 + LOCAL_ID; j < (kept ? n + 1 : 0); j += ${wg_size}) {
        const df factor = ratio(df_make(hi[i * width + j], lo[i * width + j]), pivot);
        factor_hi[j] = factor.hi, factor_lo[j] = factor.lo;
    }
    BARRIER();
    for (u32 q = LOCAL_ID; q < (kept ? n_sums : 0); q += ${wg_size}) {
        u32 k;
        const u32 j = row_of_sum(q, n, &k);
        if (j <= i) continue;
        const df above = df_make(hi[i * width + k], lo[i * width + k]);
        const df taken = df_mul(df_make(factor_hi[j], factor_lo[j]), above);
        const df rest = tidy(df_add(df_make(hi[j * width + k], lo[j * width + k]), df_neg(taken)));
        hi[j * width + k] = rest.hi, lo[j * width + k] = rest.lo;
    }
    BARRIER();
}

/* Write a leaf's function in the units of features and margins; return its terms, 0 if a number is not finite. */
FN u32 write_terms(const u32 n, const i32 power, const f32 rate, LOCAL const f32* found_hi, LOCAL const f32* found_lo,
                   GLOBAL const u32* extremes, GLOBAL u32* features, GLOBAL f32* coefficients, GLOBAL f32* intercept) {
    df at_zero = df_make(found_hi[0] * 32768.0f, found_lo[0] * 32768.0f);
    u32 n_terms = 0;
    int all_finite = 1;
    IN_ORDER
    for (u32 k = 1; k <= n; k++) {
        i32 exponent;
        const f32 center = center_of(extremes, k - 1, &exponent);
        const f32 slope = -not_tiny(scale_by(found_hi[k], exponent + power));
        const f32 shrunk = finite(slope * rate);
        all_finite &= is_finite(slope);
        if (as_u32(found_hi[k]) << 1) {
            const df moved = df_make(not_tiny(scale_by(center, exponent)), 0.0f);
            const df taken = df_mul(df_make(found_hi[k], found_lo[k]), moved);
            at_zero = tidy(df_add(at_zero, df_neg(taken)));
        }
        if (as_u32(shrunk) << 1 == 0) continue;
        features[n_terms] = features[k - 1];
        coefficients[n_terms++] = shrunk;
    }
    const f32 real = -not_tiny(scale_by(at_zero.hi, power));
    *intercept = as_margin(real * rate);
    return all_finite && is_finite(real) ? n_terms : 0;
}

/* A leaf without terms stays a number. */
KERNEL(${wg_size}) solve(
        const f32 linear_lambda, GLOBAL const u32* RESTRICT leaf_header, GLOBAL const f32* RESTRICT leaf_rate,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const i64x2* RESTRICT node_sums,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT extremes, GLOBAL const u32* RESTRICT sums,
        GLOBAL u32* sizes, GLOBAL u32* features, GLOBAL f32* RESTRICT coefficients, GLOBAL f32* RESTRICT intercepts) {
    LOCAL_ARRAY(f32, hi, ${(most + 1) * (most + 2)});
    LOCAL_ARRAY(f32, lo, ${(most + 1) * (most + 2)});
    LOCAL_ARRAY(f32, factor_hi, ${most + 1});
    LOCAL_ARRAY(f32, factor_lo, ${most + 1});
    const u32 n_nodes = leaf_header[0];
    IN_ORDER
    for (u32 id = GROUP_ID; id < n_nodes; id += N_GROUPS) {
        const u32 n = sizes[id];
        if (n == 0) continue;
        GLOBAL const u32* own_extremes = extremes + (u64)id * ${2 * most + 1};
        GLOBAL const u32* own_sums = sums + (u64)id * ${2 * most_sums};
        GLOBAL const scale_t* own_scale = scale + nodes[id].tree;
        const i32 h_power = own_scale->h - own_scale->weight_shift - (i32)h_shift(node_sums[id].y);
        for (u32 q = LOCAL_ID; q < sums_of(n); q += ${wg_size}) {
            u32 k;
            const u32 j = row_of_sum(q, n, &k);
            df sum = df_from_i64((i64)((u64)own_sums[2 * q + 1] << 32 | own_sums[2 * q]));
            if (k > n) sum = df_scale(sum, 1.0995116e12f); /* 2^40 */
            if (j == k && j) {
                i32 exponent;
                center_of(own_extremes, j - 1, &exponent);
                sum = df_add(sum, df_make(ridge_of(linear_lambda, 2 * exponent + h_power), 0.0f));
            }
            sum = tidy(sum);
            hi[j * (n + 2) + k] = sum.hi, lo[j * (n + 2) + k] = sum.lo;
        }
        BARRIER();
        const f32 least = hi[0] * 1.4901161e-8f; /* 2^-26: 4 quanta beside 2^15 */
        IN_ORDER
        for (u32 i = 0; i <= n; i++)
            eliminate(i, n, hi[i * (n + 3)] > (i ? least : 0.0f), hi, lo, factor_hi, factor_lo);
        if (LOCAL_ID == 0) {
            IN_ORDER
            for (u32 next = n + 1; next > 0; next--) { /* the unknowns take the place of factors */
                const u32 i = next - 1;
                const int kept = hi[i * (n + 3)] > (i ? least : 0.0f);
                const df x = kept ? unknown(i, n, hi, lo, factor_hi, factor_lo) : df_make(0.0f, 0.0f);
                factor_hi[i] = x.hi, factor_lo[i] = x.lo;
            }
            const i32 power = G_SHIFT - 40 - (own_scale->g - own_scale->weight_shift) + h_power;
            const u32 n_terms = write_terms(
                n, power, leaf_rate[0], factor_hi, factor_lo, own_extremes, features + (u64)id * ${most},
                coefficients + (u64)id * ${most}, intercepts + id);
            sizes[id] = hi[0] > 0.0f && own_extremes[2 * n] > n ? n_terms : 0;
        }
        BARRIER();
    }
}
</%def>

<%def name="list_terms(wg_size, most)">
/* forest[place] = for each node: size, intercept, features, coefficients; a field of all nodes after the other. */
BRIEF
KERNEL(${wg_size}) list_terms(
        const u32 most_nodes, GLOBAL const u32* RESTRICT leaf_header, GLOBAL const u32* RESTRICT sizes,
        GLOBAL const u32* RESTRICT features, GLOBAL const f32* RESTRICT coefficients,
        GLOBAL f32* RESTRICT intercepts, GLOBAL u32* RESTRICT term_begin, GLOBAL u32* RESTRICT term_features,
        GLOBAL f32* RESTRICT term_coefficients, GLOBAL u32* RESTRICT forest) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u32 n_nodes = leaf_header[0];
    forest += (u64)leaf_header[2] * ${2 + 2 * most} * most_nodes;
    u32 n_terms = 0, more;
    for (u32 base = 0; base < n_nodes; base += ${wg_size}) {
        const u32 id = base + LOCAL_ID, n = id < n_nodes ? sizes[id] : 0;
        const u32 begin = n_terms + group_scan(n, shared, &more);
        n_terms += more;
        if (id >= n_nodes) continue;
        const f32 intercept = n ? intercepts[id] : 0.0f;
        intercepts[id] = intercept;
        term_begin[id] = begin;
        forest[id] = n;
        forest[(u64)most_nodes + id] = as_u32(intercept);
        for (u32 k = 0; k < n; k++) {
            const u32 feature = features[(u64)id * ${most} + k];
            const f32 coefficient = coefficients[(u64)id * ${most} + k];
            term_features[begin + k] = feature, term_coefficients[begin + k] = coefficient;
            forest[(u64)(2 + k) * most_nodes + id] = feature;
            forest[(u64)(${2 + most} + k) * most_nodes + id] = as_u32(coefficient);
        }
    }
    if (LOCAL_ID == 0) term_begin[n_nodes] = n_terms;
}
</%def>
