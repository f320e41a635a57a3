## cox: gradients of the partial likelihood, from margins of rows in the order of their times
## uses: portable_math
##
##   order   rows by |label|, earliest first            events, and their risk sets S:
##
##   position     0    1    2    3    4    5            S[0] = risk[0] + ... + risk[5]
##   |label|      2    3    3    5    7    7            S[1] = S[2] = risk[1] + ... + risk[5]
##   event        x         x    x    x                 S[4] = risk[4] + risk[5]
##   start        0    1    1    3    4    4            (risk sets contain all ties)
##
##   risk[i] = e^margin in fixed point, at least 1      sums = scan(risk): S = total - sums before start
##   r[i] = sum of 1 / S, s[i] = sum of 1 / S^2 over events up to i
##   g = risk r - event, h = risk r - risk^2 s
##
##   1 / S is a float32. Its 24 bits are spread over planes of 31 bits, lowest first; the last plane takes
##   all higher bits. Each plane is scanned on its own, so the sums are exact.
##   r has 2 planes in units of 2^-88; s has 3 planes in units of 2^-122.
##
## params: wg_size
<%page args="wg_size"/>
<%
R_PLANES, S_PLANES, R_UNIT, S_UNIT = 2, 3, 88, 122
%>
/* The bits of x = mantissa * 2^(exponent - 150) in plane j of `planes`, in units of 2^-unit. */
FN i64 plane_of(const f32 x, const i32 unit, const i32 j, const i32 planes) {
    const u32 bits = as_u32(x);
    const i32 shift = (i32)(bits >> 23) - 150 + unit - 31 * j;
    const i64 mantissa = (i64)((bits & 0x7FFFFFu) | 0x800000u);
    if (shift <= -24) return 0;
    if (j == planes - 1) return shift < 0 ? mantissa >> -shift : mantissa << shift;
    if (shift >= 31) return 0;
    return (shift < 0 ? mantissa >> -shift : mantissa << shift) & 0x7FFFFFFF;
}

FN f32 to_float(const i64 v) {
    const df x = df_from_i64(v);
    return x.hi;
}

/* risks[i] = e^margin of the row at position i. */
KERNEL(${wg_size}) cox_exponentials(
        const u32 n_rows, GLOBAL const u32* RESTRICT order, GLOBAL const f32* RESTRICT margins,
        GLOBAL f32* RESTRICT risks) {
    for (u32 i = GROUP_ID * ${wg_size} + LOCAL_ID; i < n_rows; i += N_GROUPS * ${wg_size})
        risks[i] = portable_exp(margins[order[i]]);
}

/* Fixed point: the largest risk is below 2^top. */
KERNEL(${wg_size}) cox_quanta(
        const u32 n_rows, const i32 top, GLOBAL const f32* RESTRICT largest,
        GLOBAL const f32* RESTRICT risks, GLOBAL i64* RESTRICT quanta) {
    const i32 scale = top + 126 - (i32)(as_u32(largest[0]) >> 23);
    for (u32 i = GROUP_ID * ${wg_size} + LOCAL_ID; i < n_rows; i += N_GROUPS * ${wg_size}) {
        const i64 q = to_quanta(risks[i], scale);
        quanta[i] = q < 1 ? 1 : q;
    }
}

/* starts[i]: the first position that ties with i; bit 31 is set if i is an event. */
KERNEL(${wg_size}) cox_terms(
        const u32 n_rows, GLOBAL const u32* RESTRICT starts, GLOBAL const i64* RESTRICT sums,
        ${", ".join(f"GLOBAL i64* RESTRICT {name}{j}" for name, n in (("r", R_PLANES), ("s", S_PLANES)) for j in range(n))}) {
    for (u32 i = GROUP_ID * ${wg_size} + LOCAL_ID; i < n_rows; i += N_GROUPS * ${wg_size}) {
        const u32 start = starts[i] & 0x7FFFFFFFu;
        const i64 before = start ? sums[start - 1] : 0;
        const f32 inverse = reciprocal(to_float(sums[n_rows - 1] - before));
        const f32 square = inverse * inverse;
        const int event = starts[i] >> 31;
% for name, source, unit, planes in (("r", "inverse", R_UNIT, R_PLANES), ("s", "square", S_UNIT, S_PLANES)):
% for j in range(planes):
        ${name}${j}[i] = event ? plane_of(${source}, ${unit}, ${j}, ${planes}) : 0;
% endfor
% endfor
    }
}

KERNEL(${wg_size}) cox_gradients(
        const u32 n_rows, GLOBAL const u32* RESTRICT order, GLOBAL const u32* RESTRICT starts,
        GLOBAL const i64* RESTRICT quanta,
        ${", ".join(f"GLOBAL const i64* RESTRICT {name}{j}" for name, n in (("r", R_PLANES), ("s", S_PLANES)) for j in range(n))},
        GLOBAL f32* RESTRICT gradients, GLOBAL f32* RESTRICT hessians) {
    for (u32 i = GROUP_ID * ${wg_size} + LOCAL_ID; i < n_rows; i += N_GROUPS * ${wg_size}) {
% for name, unit, planes in (("r", R_UNIT, R_PLANES), ("s", S_UNIT, S_PLANES)):
        f32 ${name} = 0.0f;
% for j in range(planes):
        const f32 ${name}${j}_part = to_float(${name}${j}[i]) * power_of_two(${31 * j - unit});
        ${name} = ${name} + ${name}${j}_part;
% endfor
% endfor
        const f32 risk = to_float(quanta[i]);
        const f32 first = risk * r;
        const f32 square = risk * risk;
        const f32 second = square * s;
        const f32 h = first - second;
        const u32 row = order[i];
        gradients[row] = first - ((starts[i] >> 31) ? 1.0f : 0.0f);
        hessians[row] = h < 0.0f ? 0.0f : h;
    }
}
