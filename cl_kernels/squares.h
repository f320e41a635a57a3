/* squares: of gradients, whose sum tells how large noise in scores is. Twin: sum_of_squares in
   tests/reference/gradients.py. */

/* The square of a gradient in units of 2^9 quanta; larger ones than 2^24 quanta count as that. So no sum over 2^32 rows
   leaves 63 bits. */
FN i64 square_of(const i64 g) {
    const i64 size = (g < 0 ? -g : g) >> 9, most = size > 32767 ? 32767 : size;
    return most * most;
}
