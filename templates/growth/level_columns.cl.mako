## level_columns: list the features that the levels of each tree draw, and others up to a fixed number
##
##   level 0: 1    level 1: 5    level 2: 1 4      as `feature_mask` draws them for each level of a tree
##   drawn   |0 1 4 5|                             of four: theirs, and the first of the others; ascending
##
##   A row of `opened` is a level of a tree: all trees' level 0, then level 1, and so on.
##
## params: wg_size
<%page args="wg_size"/>
FN u32 is_open(GLOBAL const u32* opened, const u32 n_levels, const u64 level_words, const u32 feature) {
    u32 word = 0;
    for (u32 level = 0; level < n_levels; level++) word |= opened[level * level_words + feature / 32];
    return (word >> feature % 32) & 1;
}

/* A work-group lists the columns of one tree. */
KERNEL(${wg_size}) list_levels(
        const u32 n_features, const u32 n_drawn, const u32 n_levels, const u32 n_words,
        GLOBAL const u32* RESTRICT opened, GLOBAL u32* RESTRICT drawn) {
    LOCAL_ARRAY(u32, listed, ${wg_size}); /* open features of each work-item, which has a run */
    const u64 level_words = (u64)N_GROUPS * n_words;
    GLOBAL const u32* bits = opened + (u64)GROUP_ID * n_words;
    const u32 each = (n_features + ${wg_size - 1}) / ${wg_size};
    const u32 begin = LOCAL_ID * each < n_features ? LOCAL_ID * each : n_features;
    const u32 end = n_features - begin < each ? n_features : begin + each;
    u32 count = 0;
    for (u32 f = begin; f < end; f++) count += is_open(bits, n_levels, level_words, f);
    listed[LOCAL_ID] = count;
    BARRIER();
    u32 before = 0, all = 0;
    for (u32 item = 0; item < ${wg_size}; item++) {
        if (item < LOCAL_ID) before += listed[item];
        all += listed[item];
    }
    const u32 n_others = n_drawn - all;
    u32 others = begin - before; /* ahead of the feature */
    GLOBAL u32* own = drawn + (u64)GROUP_ID * n_drawn + before + (others < n_others ? others : n_others);
    for (u32 f = begin; f < end; f++) {
        const u32 open = is_open(bits, n_levels, level_words, f);
        if (open || others < n_others) *own++ = f;
        others += !open;
    }
}
