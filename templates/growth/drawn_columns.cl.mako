## drawn_columns: list the features that each tree draws
## uses: structs random portable_math portable_log
##
##   features   0 1 2 3 4 5 6 7
##   keys       . x x . . x . .      the smallest random numbers of the tree, as in `feature_mask`
##   drawn     |1 2 5|               their features, ascending
##
## params: wg_size; weighted, few as in `feature_mask`
<%page args="wg_size, weighted, few"/>
<%namespace name="draws" file="column_draws.cl.mako"/>
${draws.keys(weighted)}
/* A work-group lists the columns of one tree. */
KERNEL(${wg_size}) draw_columns(
        const u32 n_features, const u32 n_drawn, const u32 seed, const u32 n_batches, const u32 first_tree,
        GLOBAL const u32* RESTRICT header, GLOBAL const f32* RESTRICT weights, GLOBAL u32* all_keys,
        GLOBAL u32* RESTRICT drawn) {
${draws.arrays(wg_size)}\
    LOCAL_ARRAY(u32, listed, ${wg_size}); /* by each work-item */
    const u32 tree = stream(seed, header[3] / n_batches, first_tree + GROUP_ID);
    GLOBAL u32* keys = all_keys + (u64)GROUP_ID * n_features;
    for (u32 f = LOCAL_ID; f < n_features; f += ${wg_size}) keys[f] = 0;
    BARRIER();
        ${draws.draw("stream(tree, 1, 0)", "n_drawn", few, wg_size)}
    /* each work-item lists a run of features */
    const u32 each = (n_features + ${wg_size - 1}) / ${wg_size};
    const u32 begin = LOCAL_ID * each < n_features ? LOCAL_ID * each : n_features;
    const u32 end = n_features - begin < each ? n_features : begin + each;
    u32 count = 0;
    for (u32 f = begin; f < end; f++) count += keys[f] != OUT;
    listed[LOCAL_ID] = count;
    BARRIER();
    GLOBAL u32* own = drawn + (u64)GROUP_ID * n_drawn;
    for (u32 item = 0; item < LOCAL_ID; item++) own += listed[item];
    for (u32 f = begin; f < end; f++)
        if (keys[f] != OUT) *own++ = f;
}
