
#undef BARRIER
#define BARRIER() ((void)0)




typedef i64 stored_t; /* in buffers */
typedef i64 value_t;   /* in registers and local memory */
#define IDENTITY ((value_t)(-9223372036854775807 - 1))

FN value_t combine(const value_t a, const value_t b) {
    return a > b ? a : b;
}

FN value_t load(const stored_t x) {
    return x;
}

FN stored_t store(const value_t x) {
    return x;
}


/* Combine `count` <= 4096 elements; only work-item 0 gets the result.
   All work-items call it. Runs and rows may be reused after a BARRIER(). */
FN value_t tile_total(
    GLOBAL const stored_t* values, const u32 count, LOCAL value_t* runs, LOCAL value_t* rows) {
    (void)runs; (void)rows;
    value_t tile = IDENTITY;
    for (u32 i = 0; i < count; ++i) tile = combine(tile, load(values[i])); /* any order gives the same bits */
    return tile;
}


KERNEL(1) scan_totals(
    GLOBAL const stored_t* RESTRICT values, const u64 n, GLOBAL stored_t* RESTRICT totals) {
    LOCAL_ARRAY(value_t, runs, 256);
    LOCAL_ARRAY(value_t, rows, 16);
    const u64 first = (u64)GROUP_ID * 4096;
    const u32 count = n - first < 4096 ? (u32)(n - first) : 4096;
    const value_t total = tile_total(values + first, count, runs, rows);
    if (LOCAL_ID == 0) totals[GROUP_ID] = store(total);
}

/* out may be values: a work-item writes an element after it has read it for the last time. */
KERNEL(1) scan_tiles(
    GLOBAL const stored_t* values, const u64 n, const u32 inclusive,
    GLOBAL const stored_t* before, const u32 has_before, GLOBAL stored_t* out) {
    const u64 first = (u64)GROUP_ID * 4096;
    const u32 count = n - first < 4096 ? (u32)(n - first) : 4096;
    const value_t base = has_before ? load(before[GROUP_ID]) : IDENTITY;
    GLOBAL const stored_t* from = values + first;
    GLOBAL stored_t* to = out + first;
    value_t rows = IDENTITY;
    

    for (u32 i = 0; i < count;) {
        const value_t before_row = combine(base, rows);
        value_t runs = IDENTITY;
        const u32 row_end = count - i < 256 ? count : i + 256;
        

        while (i < row_end) {
            const value_t before_run = combine(before_row, runs);
            value_t run = IDENTITY;
            const u32 run_end = row_end - i < 16 ? row_end : i + 16;
            

            for (; i < run_end; ++i) {
                const value_t next = combine(run, load(from[i]));
                to[i] = store(combine(before_run, inclusive ? next : run));
                run = next;
            }
            runs = combine(runs, run);
        }
        rows = combine(rows, runs);
    }
}
