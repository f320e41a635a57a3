






KERNEL(256) predict(
        const u64 n_rows, const u64 first_row, const u32 n_features, const u32 first_output, const u32 first_tree,
        const u32 n_trees, const u32 longest, GLOBAL const f32* RESTRICT values,
        GLOBAL const walk_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT tree_begin, GLOBAL f32* RESTRICT margins) {
    const u32 begin = first_tree + GROUP_ID_Y * n_trees; /* all outputs have the same number of trees */
    margins += (first_output + GROUP_ID_Y) * n_rows;
    for (u32 item = 0; item < 1; item++) {
        const u64 row = first_row + ((u64)GROUP_ID * 1 + item) * 256 + LOCAL_ID;
        if (row >= n_rows) return;
        GLOBAL const f32* x = values + row * n_features;
        f32 margin = margins[row];
        IN_ORDER
        for (u32 tree = begin; tree < begin + n_trees; tree++) {
            GLOBAL const walk_t* node = nodes + tree_begin[tree];
            GLOBAL const walk_t* at = node;
            for (u32 step_count = 0; at->left && step_count < longest; step_count++) {
                const u32 left = value_goes_left(x[at->feature], at->number, at->default_left);
                at = node + at->left + 1 - left;
            }
            margin += at->number;
        }
        margins[row] = margin;
    }
}
