/* category_order: the order of a categorical feature's levels. Twin: tests/reference/category_split.py. */

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

/* How levels are put in order: `extra` is added to H, in units; a level of less than `least` weighs 0. */
typedef struct { f32 extra; i64 least; } order_t;

FN order_t make_order(GLOBAL const scale_t* scale, const f32 order_lambda, const f32 min_child_weight) {
    order_t order;
    order.extra = make_rule(scale, order_lambda, 0.0f, 0.0f).lambda;
    order.least = least_hessian(min_child_weight, scale);
    return order;
}

#define KEY_OF_ZERO 0x80000000u

/* -G / (H + extra) as an integer that orders alike. */
FN u32 order_key(const i64 g, const i64 h, const order_t order) {
    if (h < order.least) return KEY_OF_ZERO;
    const df ratio = df_div(in_units(g), df_add(in_units(h), df_make(order.extra, 0.0f)));
    return ordered(-ratio.hi);
}

/* The same in one float: its bits differ between devices, and it is off by less than a part in 2^18. */
FN u32 rough_key(const i64 g, const i64 h, const order_t order) {
    if (h < order.least) return KEY_OF_ZERO;
    return ordered(-((f32)g * 5.9604644775390625e-8f) / ((f32)h * 5.9604644775390625e-8f + order.extra));
}
