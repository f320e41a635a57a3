





/* The first of the entries begin .. end - 1 whose column is at least `column`, or end. */
FN u64 first_from(GLOBAL const i32* columns, const u64 begin, const u64 end, const i32 column) {
    u64 low = begin;
    u64 high = end;
    while (low < high) {
        const u64 middle = low + (high - low) / 2;
        if (columns[middle] < column) low = middle + 1;
        else high = middle;
    }
    return low;
}

#define NOTHING as_f32(0x7FC00000u) /* NaN: the value of what is missing */

KERNEL(64) predict_sparse(
        const u64 n_rows, const u64 first_row, const u32 first_output, const u32 first_tree, const u32 n_trees,
        const u32 longest, GLOBAL const i64* RESTRICT row_starts, GLOBAL const i32* RESTRICT columns,
        GLOBAL const f32* RESTRICT values, GLOBAL const walk_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT tree_begin, GLOBAL f32* RESTRICT margins) {
    const u32 begin = first_tree + GROUP_ID_Y * n_trees; /* all outputs have the same number of trees */
    margins += (first_output + GROUP_ID_Y) * n_rows;
    for (u32 item = 0; item < 1; item++) {
        const u64 row = first_row + ((u64)GROUP_ID * 1 + item) * 64 + LOCAL_ID;
        if (row >= n_rows) return;
        const u64 start = (u64)row_starts[row];
        const u64 end = (u64)row_starts[row + 1];
        f32 margin = margins[row];
        IN_ORDER
        for (u32 tree = begin; tree < begin + n_trees; tree++) {
            GLOBAL const walk_t* node = nodes + tree_begin[tree];
            GLOBAL const walk_t* at = node;
            for (u32 step_count = 0; at->left && step_count < longest; step_count++) {
                const i32 column = (i32)at->feature;
                const u64 entry = first_from(columns, start, end, column);
                const f32 value = entry < end && columns[entry] == column ? values[entry] : NOTHING;
                const u32 left = value_goes_left(value, at->number, at->default_left);
                at = node + at->left + 1 - left;
            }
            margin += at->number;
        }
        margins[row] = margin;
    }
}

KERNEL(64) gather_columns(
        const u64 n_rows, const u32 n_used, GLOBAL const i64* RESTRICT row_starts,
        GLOBAL const i32* RESTRICT columns, GLOBAL const f32* RESTRICT values,
        GLOBAL const i32* RESTRICT used, GLOBAL f32* RESTRICT block) {
    for (u32 item = 0; item < 1; item++) {
        const u64 row = ((u64)GROUP_ID * 1 + item) * 64 + LOCAL_ID;
        if (row >= n_rows) return;
        u64 at = (u64)row_starts[row];
        const u64 end = (u64)row_starts[row + 1];
        GLOBAL f32* x = block + row * n_used;
        for (u32 j = 0; j < n_used; j++) {
            const i32 column = used[j];
            u64 step = 1;
            while (at + step <= end && columns[at + step - 1] < column) {
                at += step;
                step += step;
            }
            at = first_from(columns, at, at + step <= end ? at + step - 1 : end, column);
            x[j] = at < end && columns[at] == column ? values[at] : NOTHING;
        }
    }
}
