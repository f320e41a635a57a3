/* counted_children: as `children`, where each child has to have a number of rows. Twin: tests/reference/row_counts.py.

   The quanta of a row that counts are 1 more than a multiple of M = 2^bits - 1 (gradient) or of 2^bits (Hessian),
   see `quantize_gradients`. So sums tell the number n of rows that they are of:

       x = H mod 2^bits = n mod 2^bits           n = x + 2^bits t,  and 2^bits mod M = 1, so
       y = G mod M      = n mod M                y = x + t mod M:  t = (y - x) mod M

   t is below M, as there are less than 2^bits M rows. */

typedef struct { i64 h; i64 rows; u32 bits; } least_t; /* of a child */

FN least_t least_child(const f32 min_child_weight, GLOBAL const scale_t* scale) {
    least_t least;
    least.h = least_hessian(min_child_weight, scale);
    least.rows = (i64)scale->least_rows;
    least.bits = scale->count_bits;
    return least;
}

FN i64 number_of_rows(const i64 g, const i64 h, const u32 bits) {
    const i64 m = ((i64)1 << bits) - 1, x = h & m;
    i64 y = g;
    while (y > m || y < 0) y = (y >> bits) + (y & m); /* 2^bits mod M is 1 */
    if (y == m) y = 0;
    return x + ((y < x ? y - x + m : y - x) << bits);
}

FN int may_split(const i64 left_g, const i64 left_h, const i64 right_g, const i64 right_h, const least_t least) {
    return are_heavy(left_h, right_h, least.h) && number_of_rows(left_g, left_h, least.bits) >= least.rows
        && number_of_rows(right_g, right_h, least.bits) >= least.rows;
}
