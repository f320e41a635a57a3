## math_probe: results of portable_math's functions and layouts of structs, for tests of a driver
## uses: portable_math portable_log structs
##
##   floats     (a, b) and (c, d), each a number in two floats, and k  ->  N_RESULTS floats an element
##   integers   a float x, a weight w, an integer q and k  ->  results of functions on bits
##   logs       x  ->  ln(x), ln(1 + x) and 1 / sqrt(x)
##   fields     records  ->  each field's offset, size, and value as a float
##
##   With contraction, `product_sum` (a * c + d) rounds once instead of twice, and two_prod is wrong.
##
## params: wg_size; fields, "struct:field,field;struct:..." for the kernels fields_<struct>, or ""
<%page args="wg_size, fields"/>
<%
pairs = [("two_sum", "two_sum(a, c)"), ("fast_two_sum", "fast_two_sum(a, b)"),
         ("two_prod", "two_prod(a, c)"), ("df_add", "df_add(x, y)"), ("df_neg", "df_neg(x)"),
         ("df_mul", "df_mul(x, y)"), ("df_div", "df_div(x, y)"), ("df_scale", "df_scale(x, 0.25f)")]
singles = [("product_sum", "a * c + d"), ("reciprocal", "reciprocal(c)"),
           ("exp", "portable_exp(a)"), ("sigmoid", "portable_sigmoid(a)"),
           ("scale_by", "scale_by(a, k)"), ("power_of_two", "power_of_two(k)"),
           ("less", "(f32)df_less(x, y)")]
n_results = 2 * len(pairs) + len(singles)
%>
KERNEL(${wg_size}) floats(
        const u32 n, GLOBAL const f32* RESTRICT as, GLOBAL const f32* RESTRICT bs,
        GLOBAL const f32* RESTRICT cs, GLOBAL const f32* RESTRICT ds,
        GLOBAL const i32* RESTRICT ks, GLOBAL f32* RESTRICT results) {
    const u32 i = (u32)GLOBAL_ID;
    if (i >= n) return;
    const f32 a = as[i], b = bs[i], c = cs[i], d = ds[i];
    const df x = df_make(a, b), y = df_make(c, d);
    const i32 k = ks[i];
    GLOBAL f32* out = results + (u64)i * ${n_results};
% for at, (name, expression) in enumerate(pairs):
    const df ${name}_of = ${expression};
    out[${2 * at}] = ${name}_of.hi;
    out[${2 * at + 1}] = ${name}_of.lo;
% endfor
% for at, (name, expression) in enumerate(singles):
    out[${2 * len(pairs) + at}] = ${expression}; /* ${name} */
% endfor
}

KERNEL(${wg_size}) integers(
        const u32 n, GLOBAL const f32* RESTRICT xs, GLOBAL const f32* RESTRICT weights,
        GLOBAL const i64* RESTRICT qs, GLOBAL const i32* RESTRICT ks,
        GLOBAL i64* RESTRICT quanta, GLOBAL i64* RESTRICT weighed,
        GLOBAL f32* RESTRICT two_floats, GLOBAL u32* RESTRICT keys, GLOBAL u32* RESTRICT missing) {
    const u32 i = (u32)GLOBAL_ID;
    if (i >= n) return;
    quanta[i] = to_quanta(xs[i], ks[i]);
    weighed[i] = weigh(qs[i], weights[i]);
    const df v = df_from_i64(qs[i]);
    two_floats[2 * i] = v.hi;
    two_floats[2 * i + 1] = v.lo;
    keys[i] = ordered(xs[i]);
    missing[i] = (u32)is_missing(xs[i]);
}

KERNEL(${wg_size}) logs(
        const u32 n, GLOBAL const f32* RESTRICT xs, GLOBAL f32* RESTRICT results) {
    const u32 i = (u32)GLOBAL_ID;
    if (i >= n) return;
    const f32 x = xs[i];
    results[3 * i] = portable_log(x);
    results[3 * i + 1] = portable_log1p(x);
    results[3 * i + 2] = portable_rsqrt(x);
}

% for struct in filter(None, fields.split(";")):
<%
struct_name, members = struct.split(":")
members = members.split(",")
%>
/* One work-item writes the sizes and offsets of the struct and its fields, then all records' fields. */
KERNEL(${wg_size}) fields_${struct_name}(
        const u32 n, GLOBAL const ${struct_name}* RESTRICT records, GLOBAL u32* RESTRICT places,
        GLOBAL f32* RESTRICT values) {
    if (GLOBAL_ID != 0) return;
    GLOBAL const u8* base = (GLOBAL const u8*)records;
    places[0] = (u32)sizeof(${struct_name});
% for at, member in enumerate(members):
    places[${2 * at + 1}] = (u32)((GLOBAL const u8*)&records->${member} - base);
    places[${2 * at + 2}] = (u32)sizeof(records->${member});
% endfor
    for (u32 i = 0; i < n; i++) {
% for at, member in enumerate(members):
        values[${len(members)} * i + ${at}] = (f32)records[i].${member};
% endfor
    }
}
% endfor
