/* steps: when nodes of trees were made. A step is a level of all trees, or the children of a leaf of every tree. */

/* The step in which a node was made. */
FN u32 step_of(GLOBAL const level_t* levels, const u32 n_levels, const u32 id) {
    u32 low = 0, high = n_levels; /* steps make nodes of ascending ids */
    while (low < high) {
        const u32 middle = low + (high - low + 1) / 2;
        if (levels[middle].first <= id) low = middle; else high = middle - 1;
    }
    return low;
}
