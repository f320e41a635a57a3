




typedef u32 stored_t; /* in buffers */
typedef u32 value_t;   /* in registers and local memory */
#define IDENTITY ((value_t)0)

FN value_t combine(const value_t a, const value_t b) {
    return a + b;
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
    const u32 n_runs = (count + 15) / 16, n_rows = (n_runs + 15) / 16;
    for (u32 run = LOCAL_ID; run < n_runs; run += 256) {
        value_t total = IDENTITY;
        

        for (u32 i = run * 16; i < run * 16 + 16; ++i)
            if (i < count) total = combine(total, load(values[i]));
        runs[run] = total;
    }
    BARRIER();
    for (u32 row = LOCAL_ID; row < n_rows; row += 256) {
        value_t total = IDENTITY;
        

        for (u32 run = row * 16; run < row * 16 + 16; ++run)
            if (run < n_runs) total = combine(total, runs[run]);
        rows[row] = total;
    }
    BARRIER();
    value_t total = IDENTITY;
    if (LOCAL_ID == 0) {
        

        for (u32 row = 0; row < n_rows; ++row) total = combine(total, rows[row]);
    }
    return total;
}


KERNEL(256) scan_totals(
    GLOBAL const stored_t* RESTRICT values, const u64 n, GLOBAL stored_t* RESTRICT totals) {
    LOCAL_ARRAY(value_t, runs, 256);
    LOCAL_ARRAY(value_t, rows, 16);
    const u64 first = (u64)GROUP_ID * 4096;
    const u32 count = n - first < 4096 ? (u32)(n - first) : 4096;
    const value_t total = tile_total(values + first, count, runs, rows);
    if (LOCAL_ID == 0) totals[GROUP_ID] = store(total);
}

/* out may be values: a work-item writes an element after it has read it for the last time. */
KERNEL(256) scan_tiles(
    GLOBAL const stored_t* values, const u64 n, const u32 inclusive,
    GLOBAL const stored_t* before, const u32 has_before, GLOBAL stored_t* out) {
    const u64 first = (u64)GROUP_ID * 4096;
    const u32 count = n - first < 4096 ? (u32)(n - first) : 4096;
    const value_t base = has_before ? load(before[GROUP_ID]) : IDENTITY;
    GLOBAL const stored_t* from = values + first;
    GLOBAL stored_t* to = out + first;
    LOCAL_ARRAY(value_t, runs, 256);
    LOCAL_ARRAY(value_t, rows, 16);
    tile_total(from, count, runs, rows); /* fills runs and rows with their totals */
    for (u32 r = LOCAL_ID; r * 16 < count; r += 256) {
        value_t before_row = IDENTITY, before_run = IDENTITY, run = IDENTITY;
        

        for (u32 k = 0; k < r / 16; ++k) before_row = combine(before_row, rows[k]);
        

        for (u32 k = r / 16 * 16; k < r; ++k) before_run = combine(before_run, runs[k]);
        before_run = combine(combine(base, before_row), before_run);
        

        for (u32 i = r * 16; i < r * 16 + 16; ++i)
            if (i < count) {
                const value_t next = combine(run, load(from[i]));
                to[i] = store(combine(before_run, inclusive ? next : run));
                run = next;
            }
    }
}
