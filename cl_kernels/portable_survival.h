/* portable_survival: functions for distributions of survival times, with the same bits on every device;
   needs portable_math and portable_log.

   As in portable_math: only +, -, * in float32, in a fixed order. The twin is
   pyopencl_gbdt/numerics/portable_loss.py; its test checks the errors. */

/* Mills' ratio (1 - Phi(x)) / phi(x) of the normal distribution for x >= 0, within 4e-7 of itself:
   (x + 1.5) times it is a polynomial in (x - 3.75) / (x + 3.75) (the substitution is that of Shepherd
   and Laframboise 1981, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < oo"; the
   coefficients are interpolated at Chebyshev's points, within 2e-8). */
FN f32 mills_right(const f32 x) {
    const f32 above = x + 3.75f;
    const f32 below = x - 3.75f;
    const f32 t = below * reciprocal(above);
    f32 s = -1.35691371e-4f;
    f32 m;
    m = s * t; s = m + 1.07675944e-4f;
    m = s * t; s = m + 1.21460413e-3f;
    m = s * t; s = m + -2.02610064e-3f;
    m = s * t; s = m + -6.39714487e-3f;
    m = s * t; s = m + 0.0302276649f;
    m = s * t; s = m + -0.0481636673f;
    m = s * t; s = m + -4.48414416e-4f;
    m = s * t; s = m + 0.176971644f;
    m = s * t; s = m + -0.467846423f;
    m = s * t; s = m + 1.31649578f;
    return s * reciprocal(x + 1.5f);
}

/* Mills' ratio for any x, within 1e-5 of itself; for x below -11, the ratio of -11, which is 1e26. */
FN f32 mills_ratio(const f32 x) {
    const f32 c = x < -11.0f ? -11.0f : x;
    const f32 right = mills_right(c < 0.0f ? -c : c);
    const f32 half_c = 0.5f * c;
    const f32 square = half_c * c;
    const f32 top = 2.50662827f * portable_exp(square < 61.0f ? square : 61.0f);
    return c < 0.0f ? top - right : right;
}

/* 1 - x r for Mills' ratio r of x; above 12 by its asymptotic series, as 1 and x r are close. */
FN f32 mills_rest(const f32 x, const f32 r) {
    const f32 product = (x < -11.0f ? -11.0f : x) * r;
    const f32 near = 1.0f - product;
    const f32 far_x = x < 12.0f ? 12.0f : x;
    const f32 once = reciprocal(far_x);
    const f32 z = once * once;
    f32 s = 945.0f;
    f32 m;
    m = s * z; s = m + -105.0f;
    m = s * z; s = m + 15.0f;
    m = s * z; s = m + -3.0f;
    m = s * z; s = m + 1.0f;
    const f32 far = s * z;
    return x < 12.0f ? near : far;
}

/* x / (e^x - 1) for x >= 0, within 1e-6 of itself; 0 above 60. Below 0.5 its series is used (it is the
   generating function of Bernoulli's numbers). */
FN f32 bernoulli(const f32 x) {
    const f32 c = x > 60.0f ? 60.0f : x;
    const f32 square = c * c;
    f32 s = 3.30687835e-5f;
    f32 m;
    m = s * square; s = m + -1.38888892e-3f;
    m = s * square; s = m + 0.0833333358f;
    m = s * square; s = m + 1.0f;
    const f32 half_c = 0.5f * c;
    const f32 small = s - half_c;
    const f32 e = portable_exp(c < 0.5f ? 0.5f : c);
    const f32 large = c * reciprocal(e - 1.0f);
    return c < 0.5f ? small : (x > 60.0f ? 0.0f : large);
}

/* bernoulli(x) + x - 1 for x >= 0, given q = bernoulli(x). */
FN f32 bernoulli_rest(const f32 x, const f32 q) {
    const f32 c = x > 0.5f ? 0.5f : x;
    const f32 square = c * c;
    f32 s = 3.30687835e-5f;
    f32 m;
    m = s * square; s = m + -1.38888892e-3f;
    m = s * square; s = m + 0.0833333358f;
    m = s * c; s = m + 0.5f;
    const f32 small = s * c;
    const f32 less = x - 1.0f;
    const f32 large = q + less;
    return x < 0.5f ? small : large;
}

/* (1 - e^-x) / x for x in 0 .. 1, within 2e-7 of itself: Taylor's series, its remainder below 3e-8. */
FN f32 mean_decay(const f32 x) {
    f32 s = -2.75573192e-7f;
    f32 m;
    m = s * x; s = m + 2.75573192e-6f;
    m = s * x; s = m + -2.48015873e-5f;
    m = s * x; s = m + 1.98412698e-4f;
    m = s * x; s = m + -1.38888889e-3f;
    m = s * x; s = m + 8.33333333e-3f;
    m = s * x; s = m + -4.16666667e-2f;
    m = s * x; s = m + 0.166666667f;
    m = s * x; s = m + -0.5f;
    m = s * x; s = m + 1.0f;
    return s;
}

/* 1 - e^-x for x >= 0, within 3e-7 of itself. */
FN f32 decay(const f32 x) {
    const f32 near = x * mean_decay(x < 1.0f ? x : 1.0f);
    const f32 far = 1.0f - portable_exp(-x);
    return x < 1.0f ? near : far;
}

/* -ln(1 - e^-x) for x > 0, within 5e-7 of itself or of 1. */
FN f32 minus_log_decay(const f32 x) {
    const f32 near = x * mean_decay(x < 1.0f ? x : 1.0f);
    const f32 far = -portable_log1p(-portable_exp(x < 1.0f ? -1.0f : -x));
    return x < 1.0f ? -portable_log(near) : far;
}
