/* portable_math: float arithmetic with the same bits on every device.

   It uses only correctly rounded +, -, * in float32, in a fixed order. It uses no division, exp, log,
   sqrt or fma of the driver and no contraction, and results do not depend on subnormals. The twin is
   pyopencl_gbdt/numerics/portable_math.py.

   df is a number in two floats, hi + lo with |lo| <= ulp(hi) / 2: about 48 bits
   (Dekker 1971, "A floating-point technique for extending the available precision"; Knuth's
   two-sum, TAOCP 2, 4.2.2). */

typedef struct { f32 hi; f32 lo; } df;

FN df df_make(const f32 hi, const f32 lo) { df r; r.hi = hi; r.lo = lo; return r; }

/* a + b without error, for any magnitudes. */
FN df two_sum(const f32 a, const f32 b) {
    const f32 s = a + b;
    const f32 c = s - a;
    const f32 d = s - c;
    const f32 e = a - d;
    const f32 f = b - c;
    return df_make(s, e + f);
}

/* a + b without error, for |a| >= |b| or a == 0. */
FN df fast_two_sum(const f32 a, const f32 b) {
    const f32 s = a + b;
    const f32 c = s - a;
    return df_make(s, b - c);
}

/* a * b without error (Dekker's splitting into 12 + 12 bits). */
FN df two_prod(const f32 a, const f32 b) {
    const f32 p = a * b;
    const f32 ca = 4097.0f * a;
    const f32 da = ca - a;
    const f32 ah = ca - da;
    const f32 al = a - ah;
    const f32 cb = 4097.0f * b;
    const f32 db = cb - b;
    const f32 bh = cb - db;
    const f32 bl = b - bh;
    const f32 hh = ah * bh;
    const f32 hl = ah * bl;
    const f32 lh = al * bh;
    const f32 ll = al * bl;
    const f32 e1 = hh - p;
    const f32 e2 = e1 + hl;
    const f32 e3 = e2 + lh;
    return df_make(p, e3 + ll);
}

FN df df_add(const df a, const df b) {
    df s = two_sum(a.hi, b.hi);
    const df t = two_sum(a.lo, b.lo);
    s = fast_two_sum(s.hi, s.lo + t.hi);
    return fast_two_sum(s.hi, s.lo + t.lo);
}

FN df df_neg(const df a) { return df_make(-a.hi, -a.lo); }

FN df df_mul(const df a, const df b) {
    const df p = two_prod(a.hi, b.hi);
    const f32 x = a.hi * b.lo;
    const f32 y = a.lo * b.hi;
    const f32 z = x + y;
    return fast_two_sum(p.hi, p.lo + z);
}

FN df df_scale(const df a, const f32 power_of_two) {
    return df_make(a.hi * power_of_two, a.lo * power_of_two);
}

FN int df_less(const df a, const df b) { return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo); }

/* 2^k; k is clamped to -126..127. */
FN f32 power_of_two(const i32 k) {
    const i32 c = k < -126 ? -126 : (k > 127 ? 127 : k);
    return as_f32((u32)(c + 127) << 23);
}

/* x * 2^k, by two factors that float32 can hold. */
FN f32 scale_by(const f32 x, const i32 k) {
    const i32 c = k < -252 ? -252 : (k > 254 ? 254 : k);
    const i32 first = c / 2;
    const f32 once = x * power_of_two(first);
    return once * power_of_two(c - first);
}

/* A Newton step towards 1 / x, in the form that adds a small correction. */
FN f32 closer_reciprocal(const f32 x, const f32 r) {
    const f32 p = x * r;
    const f32 e = 1.0f - p;
    const f32 m = r * e;
    return r + m;
}

/* 1 / x for x in 2^-120 .. 2^120, within 1.5 ulp: a guess from the bits, then four steps, after which
   powers of two are exact. It has no loop, as PoCL would not vectorise its callers then. */
FN f32 reciprocal(const f32 x) {
    const f32 r1 = closer_reciprocal(x, as_f32(0x7EF311C7u - as_u32(x)));
    const f32 r2 = closer_reciprocal(x, r1);
    const f32 r3 = closer_reciprocal(x, r2);
    return closer_reciprocal(x, r3);
}

/* a / b for b.hi in the range of reciprocal; relative error below 2^-44. */
FN df df_div(const df a, const df b) {
    const f32 r = reciprocal(b.hi);
    const f32 q1 = a.hi * r;
    df rest = df_add(a, df_neg(df_mul(b, df_make(q1, 0.0f))));
    const f32 q2 = rest.hi * r;
    rest = df_add(rest, df_neg(df_mul(b, df_make(q2, 0.0f))));
    const f32 q3 = rest.hi * r;
    const df q = fast_two_sum(q1, q2);
    return fast_two_sum(q.hi, q.lo + q3);
}

/* Convert an integer of up to 63 bits, by pieces that convert exactly. */
FN df df_from_i64(const i64 v) {
    const i64 top = v >> 42;
    const i64 middle = (v >> 21) & 0x1FFFFF;
    const i64 bottom = v & 0x1FFFFF;
    const df a = two_sum((f32)(i32)top * 4398046511104.0f, (f32)(i32)middle * 2097152.0f);
    const df b = two_sum(a.lo, (f32)(i32)bottom);
    const df c = two_sum(a.hi, b.hi);
    return fast_two_sum(c.hi, c.lo + b.lo);
}

/* e^x for x in -80..80 (clamped), within 2 ulp: e^x = 2^n * e^r, |r| <= ln(2) / 2, Taylor's
   series to r^7 (remainder below 6e-9). ln 2 in two parts, so that n * part is exact. */
FN f32 portable_exp(const f32 x) {
    const f32 c = x < -80.0f ? -80.0f : (x > 80.0f ? 80.0f : x);
    const f32 t = c * 1.44269502f;
    const f32 shifted = t + 12582912.0f;
    const f32 n = shifted - 12582912.0f;
    const f32 big = n * 0.693359375f;
    const f32 small = n * -2.12194442e-4f;
    const f32 r1 = c - big;
    const f32 r = r1 - small;
    f32 s = 1.98412701e-4f;
    f32 m;
    m = s * r; s = m + 1.38888892e-3f;
    m = s * r; s = m + 8.33333377e-3f;
    m = s * r; s = m + 4.16666679e-2f;
    m = s * r; s = m + 1.66666672e-1f;
    m = s * r; s = m + 0.5f;
    m = s * r; s = m + 1.0f;
    m = s * r; s = m + 1.0f;
    return s * power_of_two((i32)n);
}

/* 1 / (1 + e^-x); x is clamped to -50..50, as beyond it reciprocal's corrections would be subnormal. */
FN f32 portable_sigmoid(const f32 x) {
    const f32 c = x < -50.0f ? -50.0f : (x > 50.0f ? 50.0f : x);
    const f32 e = portable_exp(-c);
    return reciprocal(1.0f + e);
}

/* round(x * 2^s) to the nearest integer, ties to even, by integer arithmetic; |result| < 2^62. */
FN i64 to_quanta(const f32 x, const i32 s) {
    const u32 bits = as_u32(x);
    const i32 exponent = (i32)((bits >> 23) & 0xFF);
    if (exponent == 0) return 0;
    const i64 mantissa = (i64)((bits & 0x7FFFFF) | 0x800000);
    const i32 shift = exponent - 150 + s;
    i64 q;
    if (shift >= 0) {
        q = mantissa << (shift > 38 ? 38 : shift);
    } else if (shift < -25) {
        q = 0;
    } else {
        const i64 unit = (i64)1 << -shift;
        const i64 below = mantissa & (unit - 1);
        q = mantissa >> -shift;
        if (2 * below > unit || (2 * below == unit && (q & 1))) q += 1;
    }
    return (bits >> 31) ? -q : q;
}

/* Round x to the nearest integer, ties to even, for |x| < 2^31; from 2^23 on, floats are integers. */
FN i32 round_to_i32(const f32 x) {
    const f32 a = as_f32(as_u32(x) & 0x7FFFFFFFu);
    const f32 up = a + 8388608.0f;
    const f32 rounded = up - 8388608.0f;
    const i32 n = (i32)(a < 8388608.0f ? rounded : a);
    return x < 0.0f ? -n : n;
}

/* round(q * w) for a float w >= 0, ties upward, by exact integer arithmetic. For an integer w it is exactly
   q * w, so a row of weight k counts as k rows. */
FN i64 weigh(const i64 q, const f32 w) {
    const u32 bits = as_u32(w);
    const i32 exponent = (i32)((bits >> 23) & 0xFF);
    if (exponent == 0) return 0;
    const i64 mantissa = (i64)((bits & 0x7FFFFF) | 0x800000);
    i32 shift = 150 - exponent;
    if (shift <= 0) return (q * mantissa) << -shift;
    i64 p = q;
    if (shift > 38) {
        p = shift > 100 ? 0 : p >> (shift - 38);
        shift = 38;
    }
    const i64 high = p >> shift;
    const i64 low = p & (((i64)1 << shift) - 1);
    return high * mantissa + ((low * mantissa + ((i64)1 << (shift - 1))) >> shift);
}

/* An integer key in the order of floats, except NaN. -0 equals +0. Subnormals have their right order, even
   on devices that flush them. */
FN u32 ordered(const f32 x) {
    const u32 bits = as_u32(x);
    if ((bits & 0x7FFFFFFFu) == 0) return 0x80000000u;
    return (bits >> 31) ? ~bits : bits | 0x80000000u;
}

/* x, or the zero of its sign if |x| < 2^-125. Some devices flush numbers below 2^-126 to zero, and others round
   some of them up to 2^-126, so all devices agree from here on. */
FN f32 not_tiny(const f32 x) {
    const u32 bits = as_u32(x);
    return as_f32(bits & 0x7F000000u ? bits : bits & 0x80000000u);
}

/* Targets near the limits of float32 make gradients, gains and leaf values overflow or underflow. An infinity
   becomes the largest number of its sign. NaN becomes the largest number, so that all devices agree. */
FN f32 finite(const f32 x) {
    const f32 most = 3.40282347e38f;
    const f32 not_above = !(x <= most) ? most : x;
    return not_tiny(not_above < -most ? -most : not_above);
}

/* A number that is added to margins. It is 0 or a multiple of 2^-125, and so is a sum of such numbers: no sum is
   subnormal, and a subnormal label is too small to change its difference from one that is not 0. */
FN f32 as_margin(const f32 x) {
    const u32 bits = as_u32(finite(x));
    return as_f32((bits & 0x7FFFFFFFu) < 0x0D000000u ? bits & 0x80000000u : bits); /* 2^-101 */
}

FN int is_missing(const f32 x) { return (as_u32(x) & 0x7FFFFFFFu) > 0x7F800000u; }
