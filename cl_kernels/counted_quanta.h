/* counted_quanta: quanta whose sums tell the number of rows. Twin: on_grid in tests/reference/row_counts.py. */

/* The multiple of a step next to q, below or above it: above with a probability that is the distance from the one
   below, so that roundings are 0 in the mean (Shi et al. 2022, "Quantized training of gradient boosting decision
   trees"). `drawn` has 24 bits. */
FN i64 rounded_steps(const i64 q, const i64 step, const u32 drawn) {
    const i64 moved = q + (i64)((u64)drawn * (u64)step >> 24), n = moved / step;
    return n - (n * step > moved); /* C rounds towards 0 */
}

/* Quanta of a row that is counted, see `counted_children`. */
FN i64x2 counted_quanta(const i64 g, const i64 h, const u32 bits, const u32 id) {
    const i64 step = (i64)1 << bits;
    const u32 drawn = mix(id) >> 8;
    const i64 n_h = rounded_steps(h, step, drawn);
    return MAKE_I64X2(rounded_steps(g, step - 1, drawn) * (step - 1) + 1, (n_h < 1 ? 1 : n_h) * step + 1);
}
