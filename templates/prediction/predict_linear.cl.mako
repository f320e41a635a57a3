## predict_linear: margin[row] += the linear function of the row's leaf, in the order of the trees
## uses: portable_math structs value_decision linear_leaf
## uses if categories: value_set_decision
##
##   terms    |leaf 1: (f3, 2) (f7, -1)|leaf 4: (f3, 0.5)|..     term_begin[node] says where a node's begin
##
##   A leaf adds  intercept + 2 x3 - x7,  see linear_leaf.h. A walk ends after `longest` steps, even if the nodes are damaged.
##
## params: wg_size; categories, splits may be by sets of codes
<%page args="wg_size, categories"/>
KERNEL(${wg_size}) predict_linear(
        const u64 n_rows, const u64 first_row, const u32 n_features, const u32 first_output, const u32 first_tree,
        const u32 n_trees, const u32 longest,
        GLOBAL const f32* RESTRICT values, GLOBAL const walk_t* RESTRICT nodes,${" GLOBAL const u32* RESTRICT sets," if categories else ""}
        GLOBAL const u32* RESTRICT tree_begin, GLOBAL const u32* RESTRICT term_begin,
        GLOBAL const f32* RESTRICT intercepts, GLOBAL const u32* RESTRICT term_features,
        GLOBAL const f32* RESTRICT term_coefficients, GLOBAL f32* RESTRICT margins) {
    const u32 begin = first_tree + GROUP_ID_Y * n_trees; /* all outputs have the same number of trees */
    const u64 row = first_row + (u64)GROUP_ID * ${wg_size} + LOCAL_ID;
    if (row >= n_rows) return;
    margins += (first_output + GROUP_ID_Y) * n_rows;
    GLOBAL const f32* x = values + row * n_features;
    f32 margin = margins[row];
    IN_ORDER
    for (u32 tree = begin; tree < begin + n_trees; tree++) {
        const u32 root = tree_begin[tree];
        u32 id = root;
        for (u32 step_count = 0; nodes[id].left && step_count < longest; step_count++) {
            GLOBAL const walk_t* at = nodes + id;
% if categories:
            const u32 left = walk_goes_left(x[at->feature], at, sets);
% else:
            const u32 left = value_goes_left(x[at->feature], at->number, at->default_left);
% endif
            id = root + at->left + 1 - left;
        }
        const f32 term = linear_term(x, nodes[id].number, intercepts[id], term_begin[id], term_begin[id + 1],
                                     term_features, term_coefficients);
        margin += term;
    }
    margins[row] = margin;
}
