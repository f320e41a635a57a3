/* portable_loss: differences of logarithms without cancellation; needs portable_math, portable_log.

   The rules are those of portable_math. The twin is pyopencl_gbdt/numerics/portable_loss.py. */

/* t - ln(1 + t) for t > -1, within 5 ulp. With s = t / (2 + t), ln(1 + t) = 2 s + 2 s^3 / 3 + ... and
   t - 2 s = t s, hence t - ln(1 + t) = s (t - 2 s^2 (1/3 + s^2 / 5 + ...)), for t in -1/2 .. 1. */
FN f32 minus_log1p(const f32 t) {
    const f32 s = t * reciprocal(2.0f + t);
    const f32 z = s * s;
    f32 q = 0.0588235296f;
    f32 m;
    m = q * z; q = m + 0.0666666701f;
    m = q * z; q = m + 0.0769230798f;
    m = q * z; q = m + 0.0909090936f;
    m = q * z; q = m + 0.111111112f;
    m = q * z; q = m + 0.142857149f;
    m = q * z; q = m + 0.200000003f;
    m = q * z; q = m + 0.333333343f;
    const f32 twice = z + z;
    const f32 less = twice * q;
    const f32 rest = t - less;
    const f32 near = s * rest;
    const f32 far = t - portable_log1p(t);
    return (t < -0.5f || t > 1.0f) ? far : near;
}

/* a - b - b ln(a / b) >= 0 for a >= 0 and b in 2^-120 .. 2^120, with d = a - b. This is the difference
   between the log-likelihoods of a perfect prediction and of this one. */
FN f32 divergence(const f32 d, const f32 a, const f32 b) {
    const f32 r = reciprocal(b);
    const f32 ratio = a * r;
    const f32 t = d * r;
    const f32 near = b * minus_log1p(t < -0.5f ? -0.5f : (t > 1.0f ? 1.0f : t));
    const f32 logs = b * portable_log(ratio);
    const f32 far = d - logs;
    return (ratio < 0.5f || ratio > 2.0f) ? far : near;
}

/* sqrt x for x in 2^-100 .. 2^100, within 2.5 ulp; 0 below. */
FN f32 portable_sqrt(const f32 x) {
    const f32 r = portable_rsqrt(x < 7.88860905e-31f ? 7.88860905e-31f : x);
    return x < 7.88860905e-31f ? 0.0f : x * r;
}
