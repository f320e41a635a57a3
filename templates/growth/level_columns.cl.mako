## level_columns: list the features that the levels of each tree draw, and others up to a fixed number
##
##   level 0: 1    level 1: 5    level 2: 1 4      as `feature_mask` draws them for each level of a tree
##   drawn   |1 4|5|0|                             by the last level that draws them, the last one first
##                                                 (ascending); others behind: level k needs a first part
##
##   A row of `opened` is a level of a tree: all trees' level 0, then level 1, and so on.
##
## params: wg_size
<%page args="wg_size"/>
/* The number of levels up to the last one that draws a feature; 0: none does. */
FN u32 levels_of(GLOBAL const u32* opened, const u32 n_levels, const u64 level_words, const u32 feature) {
    for (u32 level = n_levels; level > 0; level--)
        if ((opened[(level - 1) * level_words + feature / 32] >> feature % 32) & 1) return level;
    return 0;
}

/* A work-group lists the columns of one tree. */
KERNEL(${wg_size}) list_levels(
        const u32 n_features, const u32 n_drawn, const u32 n_levels, const u32 n_words,
        GLOBAL const u32* RESTRICT opened, GLOBAL u32* RESTRICT drawn) {
    LOCAL_ARRAY(u32, listed, ${wg_size}); /* by each work-item, which has a run of features */
    const u64 level_words = (u64)N_GROUPS * n_words;
    GLOBAL const u32* bits = opened + (u64)GROUP_ID * n_words;
    GLOBAL u32* own = drawn + (u64)GROUP_ID * n_drawn;
    const u32 each = (n_features + ${wg_size - 1}) / ${wg_size};
    const u32 begin = LOCAL_ID * each < n_features ? LOCAL_ID * each : n_features;
    const u32 end = n_features - begin < each ? n_features : begin + each;
    u32 all = 0;
    for (u32 left = n_levels + 1; left > 0; left--) {
        u32 count = 0;
        for (u32 f = begin; f < end; f++) count += levels_of(bits, n_levels, level_words, f) == left - 1;
        listed[LOCAL_ID] = count;
        BARRIER();
        u32 at = all;
        for (u32 item = 0; item < ${wg_size}; item++) {
            if (item < LOCAL_ID) at += listed[item];
            all += listed[item];
        }
        for (u32 f = begin; count && f < end && at < n_drawn; f++)
            if (levels_of(bits, n_levels, level_words, f) == left - 1) own[at++] = f;
        BARRIER();
    }
}
