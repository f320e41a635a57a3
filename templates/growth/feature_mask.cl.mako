## feature_mask: choose the features on which every node of a level may split
## uses: structs random portable_math portable_log
##
##   features   0 1 2 3 4 5 6 7
##   tree       x . x x . x x .      the n features with the smallest keys, random numbers of the tree
##   level      . . x x . x . .      a sample of these, by the level's keys
##   node       . . . x . x . .      a sample of these, by the node's keys
##   allowed    one bit for each feature; with interaction constraints only those that may follow the
##              features above the node
##
##   Each stage samples from the columns of the stage before; a stage that keeps all columns is skipped.
##
## params: wg_size; weighted, whether features have weights; stages, names of the stages that are not skipped,
##         with spaces between; few, whether there are at most 256 features
<%page args="wg_size, weighted, stages, few"/>
<%namespace name="draws" file="column_draws.cl.mako"/>
${draws.keys(weighted)}
/* Whether a feature may follow those above a node: some group contains it and all of them, or it is one of
   them. */
FN u32 may_follow(
        const u32 feature, GLOBAL const node_t* nodes, GLOBAL const node_t* node,
        GLOBAL const u32* groups, const u32 n_groups, const u32 n_words) {
    if (node->parent == NO_NODE) return 1;
    for (u32 group = 0; group < n_groups; group++) {
        GLOBAL const u32* has = groups + group * n_words;
        u32 all = (has[feature / 32] >> feature % 32) & 1;
        for (u32 at = node->parent; all && at != NO_NODE; at = nodes[at].parent)
            all = (has[nodes[at].feature / 32] >> nodes[at].feature % 32) & 1;
        if (all) return 1;
    }
    for (u32 at = node->parent; at != NO_NODE; at = nodes[at].parent)
        if (nodes[at].feature == feature) return 1;
    return 0;
}

/* A work-group chooses the columns of one node after the other. */
KERNEL(${wg_size}) choose_columns(
        const u32 depth, const u32 n_features, const u32 seed, const u32 n_batches,
        const u32 first_tree, const u32 of_tree, const u32 of_level, const u32 of_node,
        const u32 n_groups, GLOBAL const u32* RESTRICT header,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const f32* RESTRICT weights, GLOBAL const u32* RESTRICT groups,
        GLOBAL u32* all_keys, GLOBAL u32* RESTRICT allowed) {
${draws.arrays(wg_size)}\
    const u32 n_words = (n_features + 31) / 32;
    const u32 first = levels[depth].first, count = levels[depth].count;
    const u32 round = header[3] / n_batches;
    GLOBAL u32* keys = all_keys + (u64)GROUP_ID * n_features;
    for (u32 index = GROUP_ID; index < count; index += N_GROUPS) {
        GLOBAL const node_t* node = &nodes[first + index];
        const u32 tree = stream(seed, round, first_tree + node->tree);
        for (u32 f = LOCAL_ID; f < n_features; f += ${wg_size}) keys[f] = 0;
        BARRIER();
% for stage, (name, salt) in enumerate((("tree", "0"), ("level", "node->depth"), ("node", "node->path"))):
% if name in stages.split():
        ${draws.draw(f"stream(tree, {stage + 1}, {salt})", "of_" + name, few, wg_size)}
% endif
% endfor
        for (u32 word = LOCAL_ID; word < n_words; word += ${wg_size}) {
            u32 bits = 0;
            for (u32 f = 32 * word; f < 32 * word + 32 && f < n_features; f++) {
                u32 in = keys[f] != OUT;
                if (in && n_groups) in = may_follow(f, nodes, node, groups, n_groups, n_words);
                bits |= in << f % 32;
            }
            allowed[(u64)index * n_words + word] = bits;
        }
        BARRIER();
    }
}
