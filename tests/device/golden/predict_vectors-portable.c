





KERNEL(256) predict_vectors(
        const u64 n_rows, const u32 n_features, const u32 n_outputs, const u32 first_tree, const u32 n_trees,
        const u32 longest, GLOBAL const f32* RESTRICT values, GLOBAL const walk_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT tree_begin, GLOBAL const f32* RESTRICT vectors, GLOBAL f32* RESTRICT margins) {
    const u64 first = ((u64)GROUP_ID * 256 + LOCAL_ID) * 1;
    if (first >= n_rows) return;
    const u32 n_own = n_rows - first < 1 ? (u32)(n_rows - first) : 1;
    IN_ORDER
    for (u32 tree = first_tree; tree < first_tree + n_trees; tree++) {
        GLOBAL const walk_t* node = nodes + tree_begin[tree];
        for (u32 row = 0; row < n_own; row++) {
            GLOBAL const f32* x = values + (first + row) * n_features;
            GLOBAL const walk_t* at = node;
            for (u32 step_count = 0; at->left && step_count < longest; step_count++) {
                const u32 left = value_goes_left(x[at->feature], at->number, at->default_left);
                at = node + at->left + 1 - left;
            }
            GLOBAL const f32* vector = vectors + (u64)as_u32(at->number) * n_outputs;
            GLOBAL f32* margin = margins + first + row;
            for (u32 output = 0; output < n_outputs; output++) margin[output * n_rows] += vector[output];
        }
    }
}
