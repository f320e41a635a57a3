## proximities: counts[left row, right row] = number of trees in which the two rows have the same leaf
##
##   left, right   (tree, row): the leaf of each row in each tree
##   A work-item counts a tile: `rows` left rows x `columns` right rows. n_left is a multiple of `rows`, and
##   n_right of `columns`. Work-groups of y share the left rows.
##
##       right rows    | columns | columns | ..
##       left rows 0-7 |  item 0 |  item 1 | ..
##
## params: wg_size; rows, columns, sizes of a work-item's tile; a CPU compares `columns` leaves in vectors
<%page args="wg_size, rows, columns"/>
KERNEL(${wg_size}) proximities(
        const u32 n_trees, const u32 n_left, const u32 n_right, GLOBAL const i32* RESTRICT left,
        GLOBAL const i32* RESTRICT right, GLOBAL u32* RESTRICT counts) {
    const u64 first = GLOBAL_ID * ${columns};
    const u64 row = (u64)GROUP_ID_Y * ${rows};
    if (first >= n_right) return;
    u32 same[${rows * columns}];
    for (u32 pair = 0; pair < ${rows * columns}; pair++) same[pair] = 0;
    for (u32 tree = 0; tree < n_trees; tree++) {
        GLOBAL const i32* others = right + (u64)tree * n_right + first;
        for (u32 k = 0; k < ${rows}; k++) {
            const i32 leaf = left[(u64)tree * n_left + row + k];
            for (u32 j = 0; j < ${columns}; j++) same[k * ${columns} + j] += others[j] == leaf;
        }
    }
    for (u32 k = 0; k < ${rows}; k++)
        for (u32 j = 0; j < ${columns}; j++)
            counts[(row + k) * n_right + first + j] = same[k * ${columns} + j];
}
