## open_columns: the features that nodes of a level, or of a deeper one, may split on
##
##   level    0: b    1: a    2: b c      as `feature_mask` draws them for each level of a tree
##   open     0: a b c  1: a b c  2: b c  those of the level and of all below it
##
##   A row of `opened` is a level of a tree: all trees' level 0, then level 1, and so on.
##
## params: wg_size
<%page args="wg_size"/>
/* A work-item has some features of a tree. */
KERNEL(${wg_size}) open_levels(const u32 n_trees, const u32 n_levels, const u32 n_words, GLOBAL u32* opened) {
    const u32 n = n_trees * n_words;
    for (u32 at = GROUP_ID * ${wg_size} + LOCAL_ID; at < n; at += N_GROUPS * ${wg_size}) {
        u32 open = 0;
        for (u32 level = n_levels; level > 0; level--) {
            open |= opened[(u64)(level - 1) * n + at];
            opened[(u64)(level - 1) * n + at] = open;
        }
    }
}
