## run_sums: add up a feature's bins, for a work-group; `split` imports this def, behind `candidates.consider`
##
##   bins      | 0 1 | 2 3 | 4 5 | missing      each work-item has a run of neighbouring bins
##   items     |  i0 |  i1 |  i2 |
##
##   A feature's fullest code may be missing from the histogram: it is what the others leave of the
##   node's total.

<%def name="functions(wg_size)">
/* The sums of a bin, as sum_g and sum_h, in one access of 16 bytes. */
#define FETCH(cells, bin) \
    const i64x2 sum = ((GLOBAL const i64x2*)(cells))[bin]; \
    const i64 sum_g = sum.x, sum_h = sum.y;
#define KEEP(cells, bin, g, h) ((GLOBAL i64x2*)(cells))[bin] = MAKE_I64X2(g, h);
/* Bins whose sums are fetched together: one after the other, each would wait for memory. */
#define AT_ONCE 4

/* A work-item's run of a feature's bins. */
typedef struct {
    u32 begin, end, full;      /* bins of the run; the feature's fullest code */
    i64 left_g, left_h;        /* sums of the bins before the run */
    i64 full_g, full_h;
    i64 missing_g, missing_h;
} run_t;

FN run_t run_of(const u32 n_bins, const u32 full) {
    const u32 size = (n_bins + ${wg_size - 1}) / ${wg_size};
    run_t run;
    run.begin = LOCAL_ID * size < n_bins ? LOCAL_ID * size : n_bins;
    run.end = run.begin + size < n_bins ? run.begin + size : n_bins;
    run.full = full;
    return run;
}

/* Subtract the sibling's histogram from the run, if asked to, and add up its bins but the fullest. */
FN void sum_run(GLOBAL i64* cells, GLOBAL const i64* sibling, const int subtract, run_t* run) {
    run->left_g = run->left_h = 0;
    for (u32 base = run->begin; base < run->end; base += AT_ONCE) {
        i64 g[AT_ONCE], h[AT_ONCE];
        for (u32 k = 0; k < AT_ONCE; k++) {
            const u32 bin = base + k < run->end ? base + k : base;
            FETCH(cells, bin)
            g[k] = sum_g;
            h[k] = sum_h;
            if (subtract) {
                FETCH(sibling, bin)
                g[k] -= sum_g;
                h[k] -= sum_h;
            }
        }
        for (u32 k = 0; k < AT_ONCE; k++) {
            const u32 bin = base + k;
            if (bin >= run->end) break;
            if (subtract) KEEP(cells, bin, g[k], h[k])
            if (bin != run->full) {
                run->left_g += g[k];
                run->left_h += h[k];
            }
        }
    }
}

/* The sums of the missing rows, whose code is behind the bins; one work-item of the group does it. */
FN void sum_missing(GLOBAL i64* cells, GLOBAL const i64* sibling, const int subtract,
                    const int has_missing, LOCAL i64* missing) {
    i64 g = 0, h = 0;
    if (has_missing) {
        g = cells[0] - (subtract ? sibling[0] : 0);
        h = cells[1] - (subtract ? sibling[1] : 0);
        if (subtract) { /* else the sibling's group may be reading them */
            cells[0] = g;
            cells[1] = h;
        }
    }
    missing[0] = g;
    missing[1] = h;
}

/* Give the fullest code what the others leave of the node; `full` held the sums of all bins. */
FN void sum_fullest(run_t* run, const parent_t* node, const u32 n_bins, LOCAL const i64* missing) {
    run->missing_g = missing[0];
    run->missing_h = missing[1];
    run->full_g = node->g - run->full_g;
    run->full_h = node->h - run->full_h;
    if (run->full == n_bins) {
        run->missing_g = run->full_g;
        run->missing_h = run->full_h;
        return;
    }
    run->full_g -= run->missing_g;
    run->full_h -= run->missing_h;
    if (run->begin > run->full) {
        run->left_g += run->full_g;
        run->left_h += run->full_h;
    }
}
</%def>
