/* portable_log: logarithms and roots with the same bits on every device; needs portable_math.

   As in portable_math: only +, -, * in float32, in a fixed order, and integers. The twin is
   pyopencl_gbdt/numerics/portable_math.py. */

/* ln x, within 1 ulp; x below 2^-126 counts as 2^-126, infinity as the largest float.
   x = 2^k * (1 + f) with 1 + f in sqrt(1/2) .. sqrt(2); s = f / (2 + f);
   ln(1 + f) = f - f^2 / 2 + s * (f^2 / 2 + s^2 * (2/3 + s^2 * 2/5 + ...)), whose last terms are small
   beside f (W. J. Cody and W. Waite 1980, "Software Manual for the Elementary Functions", 5;
   the rearranged series is that of fdlibm's e_log.c). ln 2 in two parts, so that k * part is exact. */
FN f32 portable_log(const f32 x) {
    const u32 given = as_u32(x);
    const u32 above = given > 0x7F7FFFFFu ? 0x7F7FFFFFu : given;
    const u32 bits = ((given >> 31) || given < 0x00800000u) ? 0x00800000u : above;
    const u32 shifted = bits + (0x3F800000u - 0x3F3504F3u); /* the exponent steps at sqrt(1/2) */
    const f32 k = (f32)((i32)(shifted >> 23) - 127);
    const f32 f = as_f32((shifted & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f;
    const f32 s = f * reciprocal(2.0f + f);
    const f32 z = s * s;
    f32 r = 0.222222224f;
    f32 m;
    m = r * z; r = m + 0.285714298f;
    m = r * z; r = m + 0.400000006f;
    m = r * z; r = m + 0.666666687f;
    r = r * z;
    const f32 once = 0.5f * f;
    const f32 square = once * f;
    const f32 sum = square + r;
    const f32 tail = s * sum;
    const f32 low = k * -2.12194442e-4f;
    const f32 small = tail + low;
    const f32 less = square - small;
    const f32 more = f - less;
    const f32 big = k * 0.693359375f;
    return big + more;
}

/* ln(1 + x) for x > -1, within 1.5 ulp, small x included: the rounding error of 1 + x is added as a
   first-order term. */
FN f32 portable_log1p(const f32 x) {
    const df u = two_sum(1.0f, x);
    const f32 v = u.hi < 1.17549435e-38f ? 1.17549435e-38f : u.hi;
    const f32 rest = x < 1e9f ? u.lo * reciprocal(v < 1e10f ? v : 1e10f) : 0.0f;
    const f32 whole = portable_log(u.hi);
    return whole + rest;
}

/* A Newton step towards 1 / sqrt(x), in the form that adds a small correction. */
FN f32 closer_rsqrt(const f32 half_x, const f32 r) {
    const f32 square = r * r;
    const f32 p = half_x * square;
    const f32 e = 0.5f - p;
    const f32 m = r * e;
    return r + m;
}

/* 1 / sqrt(x) for x in 2^-100 .. 2^100, within 1.5 ulp: a guess from the bits, then four steps. */
FN f32 portable_rsqrt(const f32 x) {
    const f32 half_x = 0.5f * x;
    const f32 r1 = closer_rsqrt(half_x, as_f32(0x5F375A86u - (as_u32(x) >> 1)));
    const f32 r2 = closer_rsqrt(half_x, r1);
    const f32 r3 = closer_rsqrt(half_x, r2);
    return closer_rsqrt(half_x, r3);
}
