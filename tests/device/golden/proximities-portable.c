

KERNEL(128) proximities(
        const u32 n_trees, const u32 n_left, const u32 n_right, GLOBAL const i32* RESTRICT left,
        GLOBAL const i32* RESTRICT right, GLOBAL u32* RESTRICT counts) {
    const u64 first = GLOBAL_ID * 1;
    const u64 row = (u64)GROUP_ID_Y * 8;
    if (first >= n_right) return;
    u32 same[8];
    for (u32 pair = 0; pair < 8; pair++) same[pair] = 0;
    for (u32 tree = 0; tree < n_trees; tree++) {
        GLOBAL const i32* others = right + (u64)tree * n_right + first;
        for (u32 k = 0; k < 8; k++) {
            const i32 leaf = left[(u64)tree * n_left + row + k];
            for (u32 j = 0; j < 1; j++) same[k * 1 + j] += others[j] == leaf;
        }
    }
    for (u32 k = 0; k < 8; k++)
        for (u32 j = 0; j < 1; j++)
            counts[(row + k) * n_right + first + j] = same[k * 1 + j];
}
