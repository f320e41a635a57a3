## select_leaves: a work-item selects the quantile of a leaf's residuals, along lists of rows; renew_leaves imports it
##
##   list     |l r l l r|        rows of a node whose children are leaves of the last level, or of a leaf
##   keys     |l l l|r r|        keys of the left leaf, and of the right one from the end; each tree has its own
##   digit 0  |d . d|            how many keys have each digit tells in which one the rank lies; these keys come first,
##   digit 1  |d d|              and of those with a greater digit the least is remembered: the key of the rank behind

<%namespace name="codes" file="row_codes.cl.mako"/>
<%def name="kernel(code, categories)">
${codes.in_columns(code)}
/* Find the keys of two ranks among those of a leaf, which are put in another order. */
FN void select_keys(GLOBAL u32* keys, u32 n, const ranks_t ranks, GLOBAL u32* found) {
    u32 rank = (u32)ranks.first, above = 0xFFFFFFFFu, counts[256];
    for (u32 shift = 24; n > 1; shift -= 8) {
        for (u32 digit = 0; digit < 256; digit++) counts[digit] = 0;
        for (u32 i = 0; i < n; i++) counts[(keys[i] >> shift) & 255] += 1;
        u32 digit = 0, kept = 0;
        while (counts[digit] < rank) rank -= counts[digit++];
        for (u32 i = 0; i < n; i++) {
            const u32 key = keys[i], own = (key >> shift) & 255;
            keys[kept] = key;
            kept += own == digit;
            above = own > digit && (rank == counts[digit] && key < above) ? key : above;
        }
        n = kept;
        if (shift == 0) break;
    }
    found[0] = keys[0];
    found[1] = ranks.second == ranks.first || rank < n ? keys[0] : above;
}

FN void select_leaf(GLOBAL u32* keys, const u32 n, const u32 id, GLOBAL const u32* alphas, GLOBAL u32* prefixes,
                    GLOBAL i64* ranks, GLOBAL f32* fractions) {
    const ranks_t own = ranks_of(n, alphas[0], alphas[1]);
    ranks[2 * (u64)id] = (i64)own.first;
    fractions[id] = own.fraction;
    if (n) select_keys(keys, n, own, prefixes + 2 * (u64)id);
}

/* Whether the rows of a node are in a list of its own. */
FN int is_listed(GLOBAL const u32* task_begin, const u32 id) { return task_begin[id] != task_begin[id + 1]; }

KERNEL(1) select_leaves(
        const u32 n_rows, const u32 first_row, const u32 first_tree, const u32 n_parallel, const u64 label_stride,
        ${codes.column_parameters(code)}, GLOBAL const u32* RESTRICT header, GLOBAL const u32* RESTRICT task_begin,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const u32* RESTRICT even_rows, GLOBAL const u32* RESTRICT odd_rows,
        GLOBAL const u32* RESTRICT feature_bins, ${"const u32 set_words, GLOBAL const u32* RESTRICT sets, " if categories else ""}
        GLOBAL const f32* RESTRICT labels, GLOBAL const f32* RESTRICT margins, GLOBAL const u32* RESTRICT alphas,
        GLOBAL u32* keys, GLOBAL u32* prefixes, GLOBAL i64* ranks, GLOBAL f32* RESTRICT fractions) {
    for (u32 id = GROUP_ID; id < header[0]; id += N_GROUPS) {
        GLOBAL const node_t* node = &nodes[id];
        const u32 is_leaf = node->left == NO_NODE, output = (first_tree + node->tree) / n_parallel;
        if (!is_leaf) ranks[2 * (u64)id] = 0;
        if (!is_listed(task_begin, id)) { /* children without lists have no rows */
            for (u32 child = node->left; !is_leaf && child < node->left + 2; child++)
                if (!is_listed(task_begin, child)) ranks[2 * (u64)child] = 0;
            continue;
        }
        GLOBAL const u32* rows = (node->depth & 1) ? odd_rows : even_rows;
        GLOBAL const f32* own_labels = labels + output * label_stride;
        GLOBAL const f32* own_margins = margins + (u64)output * n_rows;
        const u32 begin = node->begin, count = node->count, in_order = node->in_order, base = node->tree * n_rows;
        GLOBAL u32* own = keys + (base + begin % n_rows); /* trees that split alike share the lists of rows */
        if (is_leaf) {
            PLAIN for (u32 i = 0; i < count; i++) {
                const u32 row = in_order ? begin + i - base : rows[begin + i];
                own[i] = key_of(own_labels[row], own_margins[row]);
            }
            select_leaf(own, count, id, alphas + 2 * output, prefixes, ranks, fractions);
            continue;
        }
% if categories:
        const row_split_t split = row_split(
            code_split(node->bin, node->default_left, feature_bins[node->feature]),
            node->split_kind, sets, (u64)(node->left / 2) * set_words);
% else:
        const code_split_t split = code_split(node->bin, node->default_left, feature_bins[node->feature]);
% endif
        const column_t column = column_of(${codes.column(code)}, node->feature);
        u32 front = 0; /* the last free place is as far behind it as the last row is behind this one */
        PLAIN for (u32 i = 0; i < count; i++) {
            const u32 row = in_order ? begin + i - base : rows[begin + i];
            const u32 left = ${"row_goes_left" if categories else "code_goes_left"}(code_of(column, row - first_row), split) ? 1 : 0;
            own[left ? front : front + (count - 1 - i)] = key_of(own_labels[row], own_margins[row]);
            front += left;
        }
        select_leaf(own, front, node->left, alphas + 2 * output, prefixes, ranks, fractions);
        select_leaf(own + front, count - front, node->left + 1, alphas + 2 * output, prefixes, ranks, fractions);
    }
}
</%def>
