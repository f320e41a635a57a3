/* category_order: the order of a categorical feature's levels. Twin: reference/category_split.py. */

/* Sums of a node's rows at the levels of a feature. The histogram may leave the fullest code out. */
typedef struct {
    GLOBAL const i64* cells;
    u32 full;
    i64 full_g, full_h;
} level_sums_t;

FN i64x2 sums_of_level(const level_sums_t sums, const u32 code) {
    if (code == sums.full) return MAKE_I64X2(sums.full_g, sums.full_h);
    return ((GLOBAL const i64x2*)sums.cells)[code];
}

/* The Hessian of so many rows, at the mean of the tree's rows. */
FN i64 hessian_of_rows(const u32 rows, const u32 all_rows, const i64 tree_h) {
    return (i64)rows * (tree_h / (i64)all_rows);
}

/* -G / (H + extra) as an integer that orders alike; `extra` is in units. */
FN u32 order_key(const i64 g, const i64 h, const f32 extra) {
    const df ratio = df_div(in_units(g), df_add(in_units(h), df_make(extra, 0.0f)));
    return ordered(-ratio.hi);
}

/* The same in one float: its bits differ between devices, and it is off by less than a part in 2^18. */
FN u32 rough_key(const i64 g, const i64 h, const f32 extra) {
    return ordered(-((f32)g * 5.9604644775390625e-8f) / ((f32)h * 5.9604644775390625e-8f + extra));
}
