/* portable_gamma: what the gamma function and its derivatives differ by from simple terms, for x > 0;
   needs portable_math, portable_log.

   Each is a series in 1 / x (Stirling's, de Moivre's), whose terms after the written ones are below 1e-8
   for x >= 4. Smaller x are raised by 4 by the recurrences of the gamma function. The twin is
   pyopencl_gbdt/numerics/portable_loss.py. */

/* x (ln x - digamma(x)) for x in 2^-100 .. 2^100, from 1 down to 1/2; absolute error below 2e-6. */
FN f32 digamma_rest(const f32 x) {
    const f32 far = x < 4.0f ? x + 4.0f : x;
    const f32 r = reciprocal(far);
    const f32 z = r * r;
    f32 s = -4.16666688e-3f; /* -1/240 */
    f32 m;
    m = s * z; s = m + 3.96825399e-3f;  /* 1/252 */
    m = s * z; s = m + -8.33333377e-3f; /* -1/120 */
    m = s * z; s = m + 0.0833333358f;   /* 1/12 */
    const f32 first = s * r;
    const f32 rest = first + 0.5f; /* of far */
    const f32 one = reciprocal(x + 1.0f);
    const f32 two = reciprocal(x + 2.0f);
    const f32 three = reciprocal(x + 3.0f);
    const f32 sum_a = one + two;
    const f32 sum = sum_a + three;
    const f32 quotient = far * reciprocal(x);
    const f32 logs = portable_log(quotient);
    const f32 own = rest * r;
    const f32 d_a = sum + own;
    const f32 d = d_a - logs;
    const f32 part = x * d;
    const f32 near = 1.0f + part;
    return x < 4.0f ? near : rest;
}

/* x (x trigamma(x) - 1) for x in 2^-100 .. 2^100, from 1 down to 1/2; absolute error below 2e-6. */
FN f32 trigamma_rest(const f32 x) {
    const f32 far = x < 4.0f ? x + 4.0f : x;
    const f32 r = reciprocal(far);
    const f32 z = r * r;
    f32 s = -0.0333333351f; /* -1/30 */
    f32 m;
    m = s * z; s = m + 0.0238095243f;  /* 1/42 */
    m = s * z; s = m + -0.0333333351f; /* -1/30 */
    m = s * z; s = m + 0.166666672f;   /* 1/6 */
    const f32 first = s * r;
    const f32 rest = first + 0.5f; /* of far */
    const f32 one = x * reciprocal(x + 1.0f);
    const f32 two = x * reciprocal(x + 2.0f);
    const f32 three = x * reciprocal(x + 3.0f);
    const f32 four = x * r;
    const f32 square_a = one * one;
    const f32 square_b = two * two;
    const f32 square_c = three * three;
    const f32 square_d = four * four;
    const f32 scaled = square_d * rest;
    const f32 sum_a = square_a + square_b;
    const f32 sum_b = sum_a + square_c;
    const f32 sum_c = sum_b + scaled;
    const f32 less = four * 4.0f; /* x^2 / far - x */
    const f32 part = sum_c - less;
    const f32 near = 1.0f + part;
    return x < 4.0f ? near : rest;
}

/* ln gamma(x) - x ln x + x + ln(x) / 2 for x in 2^-100 .. 2^100: 0.919 for large x; absolute error below
   3e-6, or relative for x below 1. */
FN f32 gamma_rest(const f32 x) {
    const f32 far = x < 4.0f ? x + 4.0f : x;
    const f32 r = reciprocal(far);
    const f32 z = r * r;
    f32 s = -5.95238118e-4f; /* -1/1680 */
    f32 m;
    m = s * z; s = m + 7.93650805e-4f;  /* 1/1260 */
    m = s * z; s = m + -2.77777785e-3f; /* -1/360 */
    m = s * z; s = m + 0.0833333358f;   /* 1/12 */
    const f32 first = s * r;
    const f32 rest = first + 0.918938518f; /* of far, which is x + 4: */
    const f32 log_far = portable_log(far);
    const f32 log_x = portable_log(x);
    const f32 small = x < 4.0f ? x : 4.0f;
    const f32 a = small + 1.0f;
    const f32 b = small + 2.0f;
    const f32 c = small + 3.0f;
    const f32 ab = a * b;
    const f32 abc = ab * c;
    const f32 log_abc = portable_log(abc);
    const f32 power = far - 0.5f;
    const f32 high = power * log_far;
    const f32 lower = x + 0.5f;
    const f32 low = lower * log_x;
    const f32 sum_a = rest - 4.0f;
    const f32 sum_b = sum_a + high;
    const f32 sum_c = sum_b - log_abc;
    const f32 near = sum_c - low;
    return x < 4.0f ? near : rest;
}
