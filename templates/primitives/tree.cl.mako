## tree: the fixed order in which scan and segmented_scan combine elements; types and operations
##
##   element   0..15   16..31   ...             a run: 16 elements, left to right
##   run       0..15   16..31   ...             a row: 16 runs, left to right
##   row       0..15                            a tile: 16 rows, left to right = 4096 elements
##
## The order depends only on positions, so float sums have the same bits for every work-group size.
## A work-item combines whole runs; `runs` (256) and `rows` (16) are LOCAL.
##
## op is sum, max or min; type is u32, u64 (sums of integers wrap), i32, i64 or f32; or i64x2, two sums.
## f32 sum: starts from +0.0; every NaN is stored as 0x7fc00000.
## f32 max, min: compares bit patterns in total order (-0.0 < +0.0); if an element is NaN, so is the result.

<%def name="operation(type, op)">
<%
    ordered = type == "f32" and op != "sum"
    stored = "u32" if ordered else type
    inner = "i32" if ordered else type
    limits = {"i32": ("(-2147483647 - 1)", "2147483647"), "u32": ("0u", "4294967295u"),
              "i64": ("(-9223372036854775807 - 1)", "9223372036854775807"),
              "f32": ("(-2139095041)", "2139095040")}  # f32: keys of -inf and +inf
    nan_key = limits["i32"][1] if op == "max" else limits["i32"][0]
    if type == "i64x2":
        identity = "MAKE_I64X2(0, 0)"
    elif op == "sum":
        identity = "((value_t)0.0f)" if type == "f32" else "((value_t)0)"
    else:
        identity = f"((value_t){limits[type][0 if op == 'max' else 1]})"
%>
typedef ${stored} stored_t; /* in buffers */
typedef ${inner} value_t;   /* in registers and local memory */
#define IDENTITY ${identity}

FN value_t combine(const value_t a, const value_t b) {
% if type == "i64x2":
    return ADD_I64X2(a, b);
% elif op == "sum":
    return a + b;
% else:
    return a ${">" if op == "max" else "<"} b ? a : b;
% endif
}

FN value_t load(const stored_t x) {
% if ordered:
    const i32 bits = (i32)x;
    if ((x & 0x7fffffffu) > 0x7f800000u) return ${nan_key};
    return bits < 0 ? bits ^ 0x7fffffff : bits;
% elif type == "f32":
    return 0.0f + x; /* -0.0 becomes +0.0 */
% else:
    return x;
% endif
}

FN stored_t store(const value_t x) {
% if ordered:
    if (x == ${nan_key}) return 0x7fc00000u;
    return (u32)(x < 0 ? x ^ 0x7fffffff : x);
% elif type == "f32":
    return x == x ? x : as_f32(0x7fc00000u);
% else:
    return x;
% endif
}
</%def>

## vector_t is 16 bytes, loaded and stored at once. PART0(v), PART1(v), ... are its stored_t; PACK makes a
## vector from them.
<%def name="vectors(type, op)">
% if type in ("u64", "i64"):
typedef i64x2 vector_t;
#define PART0(v) ((stored_t)(v).x)
#define PART1(v) ((stored_t)(v).y)
#define PACK(a, b) MAKE_I64X2((i64)(a), (i64)(b))
% elif type == "i64x2":
typedef i64x2 vector_t;
#define PART0(v) (v)
#define PACK(a) (a)
% else:
typedef u32x4 vector_t;
<% to, back = ("as_f32", "as_u32") if type == "f32" and op == "sum" else ("(stored_t)", "(u32)") %>
% for k, part in enumerate("xyzw"):
#define PART${k}(v) ${to}((v).${part})
% endfor
#define PACK(a, b, c, d) MAKE_U32X4(${back}(a), ${back}(b), ${back}(c), ${back}(d))
% endif
</%def>

## Put this before every loop that combines numbers one by one: sums of floats depend on their order.
<%def name="in_order(type, op)">
% if type == "f32" and op == "sum":
IN_ORDER
% endif
</%def>

<%def name="tile_total(name, wg_size, type, op)">
/* Combine `count` <= 4096 elements; only work-item 0 gets the result.
   All work-items call it. Runs and rows may be reused after a BARRIER(). */
FN value_t ${name}(
    GLOBAL const stored_t* values, const u32 count, LOCAL value_t* runs, LOCAL value_t* rows) {
% if wg_size == 1:
    (void)runs; (void)rows;
    value_t tile = IDENTITY;
% if type != "f32" or op != "sum":
    for (u32 i = 0; i < count; ++i) tile = combine(tile, load(values[i])); /* any order gives the same bits */
% else:
    ${in_order(type, op)}
    for (u32 i = 0; i < count;) {
        value_t row = IDENTITY;
        const u32 row_end = count - i < 256 ? count : i + 256;
        ${in_order(type, op)}
        while (i < row_end) {
            value_t run = IDENTITY;
            const u32 run_end = row_end - i < 16 ? row_end : i + 16;
            ${in_order(type, op)}
            for (; i < run_end; ++i) run = combine(run, load(values[i]));
            row = combine(row, run);
        }
        tile = combine(tile, row);
    }
% endif
    return tile;
% else:
    const u32 n_runs = (count + 15) / 16, n_rows = (n_runs + 15) / 16;
    for (u32 run = LOCAL_ID; run < n_runs; run += ${wg_size}) {
        value_t total = IDENTITY;
        ${in_order(type, op)}
        for (u32 i = run * 16; i < run * 16 + 16; ++i)
            if (i < count) total = combine(total, load(values[i]));
        runs[run] = total;
    }
    BARRIER();
    for (u32 row = LOCAL_ID; row < n_rows; row += ${wg_size}) {
        value_t total = IDENTITY;
        ${in_order(type, op)}
        for (u32 run = row * 16; run < row * 16 + 16; ++run)
            if (run < n_runs) total = combine(total, runs[run]);
        rows[row] = total;
    }
    BARRIER();
    value_t total = IDENTITY;
    if (LOCAL_ID == 0) {
        ${in_order(type, op)}
        for (u32 row = 0; row < n_rows; ++row) total = combine(total, rows[row]);
    }
    return total;
% endif
}
</%def>
