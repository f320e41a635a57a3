## category_sets: the codes that go right at splits by sets, as bits, for rows to find their way
## uses: portable_math structs gain category_order decision set_decision
##
##   write_sets    a work-group a node that splits: bits of the levels up to the border, in order
##   finish_sets   when a tree has all its nodes: its walking forms point to sets, and the sets are kept
##
##   sets   |n_levels|bits of codes|missing|..     one for each pair of children, see set_decision.h
##
## params: wg_size; picked, nodes of every tree that split, rather than those of a level
<%page args="wg_size, picked"/>
<%namespace name="cells" file="category_cells.cl.mako"/>
${cells.read(wg_size)}

/* The codes of a word that go right. Levels of too few rows go where missing values go. */
FN u32 word_of(const level_sums_t sums, const u32 word, const u32 n_levels, const u32 border,
               const u32 border_key, const i64 least, const order_t order_of, const u32 one_hot,
               const u32 default_left) {
    u32 bits = 0;
    for (u32 bit = 0; bit < 32; bit++) {
        const u32 code = 32 * word + bit;
        u32 right = 1 - default_left;
        if (code < n_levels) {
            const i64x2 sum = sums_of_level(sums, code);
            if (sum.y >= least) {
                const u32 key = one_hot ? 0 : order_key(sum.x, sum.y, order_of);
                right = one_hot ? code == border : key < border_key || (key == border_key && code <= border);
            }
        }
        if (code <= n_levels) bits |= right << bit;
    }
    return bits;
}

KERNEL(${wg_size}) write_sets(
        const u32 depth, const u32 n_trees, const u32 n_codes, const u32 set_words, const u32 all_rows,
        const u32 smooth_rows, const f32 order_lambda, const f32 min_child_weight,
        GLOBAL const u32* RESTRICT feature_kinds,
        GLOBAL const level_t* RESTRICT levels, GLOBAL node_t* nodes, GLOBAL const i64x2* RESTRICT node_sums,
        ${"GLOBAL const u32* RESTRICT picked, " if picked else ""}GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const u32* RESTRICT fullest,
        GLOBAL const i64* RESTRICT pool, GLOBAL u32* RESTRICT sets) {
    LOCAL_ARRAY(i64, shared, ${2 * wg_size});
% if picked:
    const u32 count = n_trees * ${picked};
% else:
    const u32 count = levels[depth].count;
    (void)n_trees;
% endif
    for (u32 index = GROUP_ID; index < count; index += N_GROUPS) {
        const u32 id = ${"picked[index]" if picked else "levels[depth].first + index"};
        const u32 left = id == NO_NODE ? NO_NODE : nodes[id].left;
        const u32 kind = left == NO_NODE ? 0 : feature_kinds[nodes[id].feature];
        if (kind) {
            GLOBAL node_t* node = &nodes[id];
            const u32 feature = node->feature, offset = feature_offset[feature];
            const u32 n_levels = feature_bins[feature], border = node->bin, one_hot = kind == 1;
            const level_sums_t sums = read_levels(
                node_sums[id], pool + 2 * ((u64)node->slot * n_codes + offset), feature_offset[feature + 1] - offset,
                fullest[feature], shared);
            const order_t order_of = make_order(scale + node->tree, order_lambda, min_child_weight);
            const i64 few = one_hot ? 0 : hessian_of_rows(smooth_rows, all_rows, node_sums[node->tree].y);
            const i64x2 own = sums_of_level(sums, border);
            const u32 key = one_hot ? 0 : order_key(own.x, own.y, order_of);
            GLOBAL u32* set = sets + (u64)(left / 2) * set_words;
            for (u32 word = LOCAL_ID; word <= n_levels / 32; word += ${wg_size})
                set[1 + word] = word_of(sums, word, n_levels, border, key, few > 1 ? few : 1, order_of, one_hot,
                                        node->default_left);
            if (LOCAL_ID == 0) {
                set[0] = n_levels;
                node->split_kind = 1;
            }
        }
        BARRIER();
    }
}

KERNEL(${wg_size}) finish_sets(
        const u32 set_words, const u32 most_words, GLOBAL const u32* RESTRICT leaf_header,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const u32* RESTRICT sets, GLOBAL u32* RESTRICT walk,
        GLOBAL step_t* RESTRICT steps, GLOBAL u32* RESTRICT forest_sets) {
    const u32 n_nodes = leaf_header[0];
    GLOBAL u32* kept = forest_sets + (u64)leaf_header[2] * most_words;
    for (u32 id = GLOBAL_ID; id < n_nodes; id += N_GROUPS * ${wg_size}) {
        if (nodes[id].split_kind) {
            const u32 begin = nodes[id].left / 2 * set_words;
            walk[4 * id + 2] |= 2; /* default_left of a walk_t, and then its number */
            walk[4 * id + 3] = begin;
            steps[id].place |= BY_SET;
            steps[id].lefts = begin;
        }
    }
    for (u32 i = GLOBAL_ID; i < (n_nodes / 2 + 1) * set_words; i += N_GROUPS * ${wg_size}) kept[i] = sets[i];
}
