/* quantum_scale: the fixed point of gradients or of Hessians, from counts of their exponents.
   Twin: scale_exponent in tests/reference/gradients.py. */

/* In place of an exponent: no quanta were computed ahead, where the margins changed. */
#define NO_SCALE 1000

FN u32 bit_length(u32 x) {
    u32 n = 0;
    for (; x; x >>= 1) n++;
    return n;
}

/* The exponent s of one component. All nonzero values stay below 2^24 quanta, except one in 1024 (in small
   data up to 16, but at most one in 8). No sum over rows reaches 2^61, with weights of up to
   2^weight_bits. */
FN i32 scale_exponent(LOCAL const u32* counts, const i32 weight_bits, u32* wide) {
    u32 total = 0, above = 0;
    i32 sum_bits = -1000, bulk = 1, top = 1;
    for (i32 run = 0; run < 256; run += 16) { /* few exponents have rows: one work-item would wait for each of 255 counts */
        u32 any = 0;
        for (i32 k = 0; k < 16; k++) any |= counts[run + k];
        if (!any) continue;
        for (i32 e = run ? run : 1; e < run + 16; e++) {
            if (!counts[e]) continue;
            total += counts[e];
            top = e;
            const i32 bits = e - 126 + (i32)bit_length(counts[e]);
            if (bits > sum_bits) sum_bits = bits;
        }
    }
    if (total == 0) return 0;
    const u32 eighth = total / 8 < 16 ? total / 8 : 16;
    const u32 few = total / 1024 > eighth ? total / 1024 : eighth;
    for (i32 e = top; e > 0; e--) {
        above += counts[e];
        if (above > few) { bulk = e; break; }
    }
    i32 s = 150 - bulk;
    const i32 most = 61 - 8 - sum_bits - weight_bits;
    if (s > most) s = most;
    if (s > 120) s = 120;
    if (s < -126) s = -126;
    if (top - 126 + s + weight_bits > 30) *wide = 1;
    return s;
}
