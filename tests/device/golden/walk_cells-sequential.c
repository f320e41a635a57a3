
#undef BARRIER
#define BARRIER() ((void)0)






#define BY_CELL 4u

KERNEL(1) walk_cells(
        const u64 n_rows, const u32 n_features, const u32 n_masks, const u32 first_tree, const u32 n_trees,
        const u32 longest, GLOBAL const f32* RESTRICT values, GLOBAL const walk_t* RESTRICT nodes, GLOBAL const u32* RESTRICT sets,
        GLOBAL const u32* RESTRICT tree_begin, GLOBAL const u32* RESTRICT masks, GLOBAL f32* RESTRICT margins) {
    const u64 first = ((u64)GROUP_ID * 1 + LOCAL_ID) * 64;
    if (first >= n_rows) return;
    masks += (u64)GROUP_ID_Y * n_masks;
    margins += ((u64)GROUP_ID_Y * n_rows + first) * 32;
    const u32 n_own = n_rows - first < 64 ? (u32)(n_rows - first) : 64;
    IN_ORDER
    for (u32 tree = first_tree; tree < first_tree + n_trees; tree++) {
        GLOBAL const walk_t* node = nodes + tree_begin[tree];
        for (u32 row = 0; row < n_own; row++) {
        GLOBAL const f32* x = values + (first + row) * n_features;
        GLOBAL f32* margin = margins + row * 32;
        u32 waiting = 0xFFFFFFFFu;
        IN_ORDER
        while (waiting) { /* a walk ends with a cell or more, so at most 32 times */
            const u32 first_cell = waiting & (0u - waiting);
            u32 together = waiting;
            GLOBAL const walk_t* at = node;
            for (u32 step_count = 0; at->left && step_count < longest; step_count++) {
                u32 left;
                if (at->default_left & BY_CELL) {
                    const u32 lefts = masks[as_u32(at->number)];
                    left = (lefts & first_cell) != 0;
                    together &= left ? lefts : ~lefts;
                } else {
                    left = walk_goes_left(x[at->feature], at, sets);
                }
                at = node + at->left + 1 - left;
            }
            const f32 value = at->number;
            for (u32 c = 0; c < 32; c++) margin[c] = together >> c & 1 ? margin[c] + value : margin[c];
            waiting &= ~together;
        }
        }
    }
}
