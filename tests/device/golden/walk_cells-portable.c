





#define BY_CELL 4u

KERNEL(64) walk_cells(
        const u64 n_rows, const u32 n_features, const u32 n_masks, const u32 first_tree, const u32 n_trees,
        const u32 longest, GLOBAL const f32* RESTRICT values, GLOBAL const walk_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT tree_begin, GLOBAL const u32* RESTRICT masks, GLOBAL f32* RESTRICT margins) {
    LOCAL_ARRAY(f32, kept, 2048);
    LOCAL f32* margin = kept + LOCAL_ID;
    const u64 first = ((u64)GROUP_ID * 64 + LOCAL_ID) * 1;
    if (first >= n_rows) return;
    masks += (u64)GROUP_ID_Y * n_masks;
    margins += ((u64)GROUP_ID_Y * n_rows + first) * 32;
    for (u32 c = 0; c < 32; c++) margin[c * 64] = margins[c];
    GLOBAL const f32* x = values + first * n_features;
    IN_ORDER
    for (u32 tree = first_tree; tree < first_tree + n_trees; tree++) {
        GLOBAL const walk_t* node = nodes + tree_begin[tree];
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
                    left = value_goes_left(x[at->feature], at->number, at->default_left);
                }
                at = node + at->left + 1 - left;
            }
            const f32 value = at->number;
            for (u32 rest = together; rest; rest &= rest - 1) {
                const u32 place = POPCOUNT((rest & (0u - rest)) - 1) * 64;
                margin[place] = margin[place] + value;
            }
            waiting &= ~together;
        }
    }
    for (u32 c = 0; c < 32; c++) margins[c] = margin[c * 64];
}
