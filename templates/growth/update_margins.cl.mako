## update_margins: margin[row] += value of the row's leaf
## uses: structs tasks decision blocks
## uses if categories: set_decision
## uses if linear: portable_math linear_leaf
##
##   walk      every row walks the tree by its codes; rows are read in order
##   by_rows   the nodes' row lists give the rows, see `leaf_of_rows`. Every output has only one tree in a batch,
##             as two trees would write the same margin.
##
## params: wg_size; walk, whether rows walk the tree; chunk, rows of a task;
##         code, the code's type, or tiled; prefetch, rows ahead that are asked for (0: not at all);
##         categories, splits may be by sets of codes; linear, leaves add linear functions of rows that walk
<%page args="wg_size, walk, chunk, code, prefetch, categories, linear"/>
<%namespace name="codes" file="row_codes.cl.mako"/>
<%namespace name="leaf_of_rows" file="leaf_of_rows.cl.mako"/>
<%namespace name="outputs" file="outputs.cl.mako"/>
<%
    of_terms = (
        "const u32 n_features, GLOBAL const f32* RESTRICT values, GLOBAL const u32* RESTRICT term_begin, "
        "GLOBAL const f32* RESTRICT intercepts,\n        GLOBAL const u32* RESTRICT term_features, "
        "GLOBAL const f32* RESTRICT term_coefficients, ")
%>\

% if walk:
${codes.in_rows(code)}
KERNEL(${wg_size}) add_leaves(
        const u32 n_rows, const u32 first_row, const u32 page_rows, const u32 first_tree,
        const u32 n_trees, const u32 n_parallel,
        ${codes.row_parameters(code)},
        GLOBAL const u32x4* RESTRICT steps, ${"GLOBAL const u32* RESTRICT sets, " if categories else ""}${of_terms if linear else ""}GLOBAL f32* RESTRICT margins) {
${outputs.trees_of_output()}\
    margins += first_row;
    for (u32 row = GROUP_ID * ${wg_size} + LOCAL_ID; row < page_rows; row += N_GROUPS * ${wg_size}) {
        const row_t mine = row_of(${codes.row(code)}, row);
        f32 margin = margins[row];
        IN_ORDER
        for (u32 tree = begin; tree < end; tree++) {
${codes.walk(categories)}\
% if linear:
            margin += linear_term(values + (u64)(first_row + row) * n_features, as_f32(step.w), intercepts[leaf],
                                  term_begin[leaf], term_begin[leaf + 1], term_features, term_coefficients);
% else:
            margin += as_f32(step.w);
% endif
        }
        margins[row] = margin;
    }
}
% else:
${leaf_of_rows.by_rows(
    wg_size, "add_leaves", code, categories, chunk, "+=",
    "GLOBAL f32* own = margins + (u64)(first_tree + node->tree) * n_rows;",
    "const u32 first_tree, GLOBAL const f32* RESTRICT node_values, GLOBAL f32* RESTRICT margins",
    "f32", "node_values[{}]", prefetch)}
% endif
