/* linear_leaf: what a leaf with a linear function adds to the margin of a row. Twins: `added` in
   tests/reference/linear_leaves.py, and LinearLeafTerms in pyopencl_gbdt/prediction/leaf_terms.py. */

/* The function of a row's values `x`, from left to right, each product and sum rounded; the leaf's number for a row
   that misses one of its features, or if it has none. A sum that nearly cancels is 0, as devices may flush it. */
FN f32 linear_term(GLOBAL const f32* x, const f32 number, const f32 intercept, const u32 begin, const u32 end,
                   GLOBAL const u32* features, GLOBAL const f32* coefficients) {
    f32 sum = intercept;
    int missing = begin == end;
    IN_ORDER
    for (u32 k = begin; k < end; k++) {
        const f32 value = x[features[k]];
        const f32 product = not_tiny(coefficients[k] * value);
        missing |= is_missing(value);
        sum += product;
        sum = not_tiny(sum);
    }
    return missing ? number : as_margin(sum);
}
