## local_sums: 32-bit sums in local memory that carry what overflows to 64-bit sums; histograms import it
##
##   local_g   |cell 0, its copies|cell 1, ..|32 spare ones|    and local_h alike
##   target    |g h|g h|..                        64-bit sums of the codes, in global memory

<%def name="functions(wg_size, cells, copies, spare=True)">
/* A bit pattern whose sign bit is set where old + value left the range of 32 bits. */
#define OVERFLOW(old, value, sum) (((old) ^ (sum)) & ((value) ^ (sum)))

FN void add_high(GLOBAL i64* cell, const i32 high) {
    if (high) atomic_add_global_i64(cell, (i64)high << 32);
}

/* What overflowed goes to the high words of the sums, with the quanta's own high words. */
FN void carry(GLOBAL i64* target, const i32 old_g, const i32 g, const i32 high_g,
              const i32 old_h, const i32 h, const i32 high_h) {
    const i32 sum_g = (i32)((u32)old_g + (u32)g), sum_h = (i32)((u32)old_h + (u32)h);
    add_high(target, high_g + (OVERFLOW(old_g, g, sum_g) < 0 ? (g < 0 ? -1 : 1) : 0));
    add_high(target + 1, high_h + (OVERFLOW(old_h, h, sum_h) < 0 ? (h < 0 ? -1 : 1) : 0));
}

FN void clear_sums(LOCAL i32* local_g, LOCAL i32* local_h, const u32 n_cells) {
    for (u32 c = LOCAL_ID; c < n_cells; c += ${wg_size}) {
        local_g[c] = 0;
        local_h[c] = 0;
    }
% if spare:
    if (LOCAL_ID < 32) {
        local_g[${cells} + LOCAL_ID] = 0;
        local_h[${cells} + LOCAL_ID] = 0;
    }
% endif
}

/* Add up the copies of each code and write the sums; alone: no other group adds to `cells`. */
FN void write_sums(GLOBAL i64* cells, const u32 n_codes, LOCAL const i32* local_g,
                   LOCAL const i32* local_h, const int alone) {
    for (u32 c = LOCAL_ID; c < n_codes; c += ${wg_size}) {
        GLOBAL i64* cell = cells + 2 * c;
        i64 g = 0, h = 0;
        for (u32 i = c * ${copies}; i < (c + 1) * ${copies}; i++) {
            g += local_g[i];
            h += local_h[i];
        }
        if (alone) {
            cell[0] += g;
            cell[1] += h;
        } else {
            if (g) atomic_add_global_i64(&cell[0], g);
            if (h) atomic_add_global_i64(&cell[1], h);
        }
    }
}
</%def>
