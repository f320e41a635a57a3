## predict_vectors: margin[output, row] += the leaf's number of every output, in the order of the trees
## uses: portable_math structs value_decision
## uses if categories: value_set_decision
##
##   A row walks a tree once, whatever the number of outputs. The bits of a leaf's `number` say which of
##   `vectors` is its own:
##
##       vectors   leaf, output        margins   output, row: rows that walk together add side by side
##
##   A work-item has `rows` rows: all of them walk a tree, then the next tree. A walk ends after `longest`
##   steps, even if the nodes are damaged.
##
## params: wg_size; rows, rows of a work-item; categories, splits may be by sets of codes
<%page args="wg_size, rows, categories"/>
<%
    sets_argument = " GLOBAL const u32* RESTRICT sets," if categories else ""
%>
KERNEL(${wg_size}) predict_vectors(
        const u64 n_rows, const u32 n_features, const u32 n_outputs, const u32 first_tree, const u32 n_trees,
        const u32 longest, GLOBAL const f32* RESTRICT values, GLOBAL const walk_t* RESTRICT nodes,${sets_argument}
        GLOBAL const u32* RESTRICT tree_begin, GLOBAL const f32* RESTRICT vectors, GLOBAL f32* RESTRICT margins) {
    const u64 first = ((u64)GROUP_ID * ${wg_size} + LOCAL_ID) * ${rows};
    if (first >= n_rows) return;
    const u32 n_own = n_rows - first < ${rows} ? (u32)(n_rows - first) : ${rows};
    IN_ORDER
    for (u32 tree = first_tree; tree < first_tree + n_trees; tree++) {
        GLOBAL const walk_t* node = nodes + tree_begin[tree];
        for (u32 row = 0; row < n_own; row++) {
            GLOBAL const f32* x = values + (first + row) * n_features;
            GLOBAL const walk_t* at = node;
            for (u32 step_count = 0; at->left && step_count < longest; step_count++) {
% if categories:
                const u32 left = walk_goes_left(x[at->feature], at, sets);
% else:
                const u32 left = value_goes_left(x[at->feature], at->number, at->default_left);
% endif
                at = node + at->left + 1 - left;
            }
            GLOBAL const f32* vector = vectors + (u64)as_u32(at->number) * n_outputs;
            GLOBAL f32* margin = margins + first + row;
            for (u32 output = 0; output < n_outputs; output++) margin[output * n_rows] += vector[output];
        }
    }
}
