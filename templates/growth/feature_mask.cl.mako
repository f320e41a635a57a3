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
##   With few features, each is compared with all others. With many, a radix search finds the largest
##   key to keep.
##
## params: wg_size; weighted, whether features have weights; then keys are -ln(u) / weight (Efraimidis &
##         Spirakis 2006, "Weighted random sampling with a reservoir"); stages, names of the stages that
##         are not skipped, with spaces between; few, whether there are at most 256 features
<%page args="wg_size, weighted, stages, few"/>
<%def name="by_digits(wanted)">
        if (LOCAL_ID == 0) {
            border[0] = 0;
            border[1] = ${wanted};
        }
        BARRIER();
        /* find the largest key to keep, 8 bits at a time */
% for shift in (24, 16, 8, 0):
        for (u32 i = LOCAL_ID; i < 256; i += ${wg_size}) counts[i] = 0;
        BARRIER();
        for (u32 f = LOCAL_ID; f < n_features; f += ${wg_size}) {
            const u32 key = keys[f];
            if (key != OUT${f" && (key ^ border[0]) >> {shift + 8} == 0" if shift < 24 else ""})
                ${f"counts[(key >> {shift}) & 255]++" if wg_size == 1 else f"atomic_add_local_u32(&counts[(key >> {shift}) & 255], 1)"};
        }
        BARRIER();
        if (LOCAL_ID == 0) {
            u32 digit = 0, left = border[1];
            while (digit < 255 && counts[digit] < left) left -= counts[digit++];
            border[0] |= digit << ${shift};
            border[1] = left;
            border[2] = counts[digit];
        }
        BARRIER();
% endfor
        if (LOCAL_ID == 0 && border[2] > border[1]) { /* of equal keys, keep the first */
            u32 taken = 0;
            for (u32 f = 0; f < n_features; f++)
                if (keys[f] == border[0] && taken++ >= border[1]) keys[f] = OUT;
        }
        for (u32 f = LOCAL_ID; f < n_features; f += ${wg_size})
            if (keys[f] > border[0]) keys[f] = OUT;
</%def>
#define OUT 0xFFFFFFFFu

FN u32 key_of(const u32 salt, const u32 feature, GLOBAL const f32* weights) {
    const u32 bits = random_bits(salt, feature);
% if weighted:
    const f32 u = unit_number(bits) + 2.98023224e-8f;
    f32 w = weights[feature];
    if (w < 8.6736174e-19f) w = 8.6736174e-19f; /* 2^-60 */
    if (w > 1.1529215e18f) w = 1.1529215e18f; /* 2^60, so that no key is subnormal */
    const f32 wait = -portable_log(u);
    const f32 key = wait * reciprocal(w);
    return as_u32(key > 0.0f ? key : 0.0f); /* -0 has the bits of a large key */
% else:
    (void)weights;
    return bits == OUT ? OUT - 1 : bits;
% endif
}

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
    LOCAL_ARRAY(u32, counts, 256); /* if `few`, the keys */
    LOCAL_ARRAY(u32, border, 3); /* a key, features with it to keep, features with it */
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
        {
            const u32 salt = stream(tree, ${stage + 1}, ${salt});
            for (u32 f = LOCAL_ID; f < n_features; f += ${wg_size}) {
                const u32 key = keys[f] == OUT ? OUT : key_of(salt, f, weights);
                ${"counts" if few else "keys"}[f] = key;
            }
        }
        BARRIER();
% if few:
        for (u32 f = LOCAL_ID; f < n_features; f += ${wg_size}) {
            const u32 mine = counts[f];
            u32 before = 0; /* of equal keys, the first is kept */
            for (u32 other = 0; other < n_features; other++)
                before += (counts[other] < mine) | ((counts[other] == mine) & (other < f));
            keys[f] = before >= of_${name} ? OUT : mine;
        }
% else:
        ${by_digits("of_" + name)}
% endif
        BARRIER();
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
