## update_margins: margin[row] += value of the row's leaf
## uses: structs tasks decision blocks
## uses if categories: set_decision
## uses if linear: portable_math linear_leaf
## uses if loss: portable_math portable_log
## uses if ahead: quantum_scale
##
##   walk      every row walks the tree by its codes; rows are read in order
##   by_rows   the nodes' row lists give the rows, see `leaf_of_rows`. Every output has only one tree in a batch,
##             as two trees would write the same margin.
##
##   With a loss, rows that walk also count the exponents of their next gradients, as `gradients` does: one launch and
##   one reading of the margins less. With `ahead`, they also write their next quanta, see `quanta_ahead`.
##
## params: wg_size; walk, whether rows walk the tree; chunk, rows of a task;
##         code, the code's type, or tiled; prefetch, rows ahead that are asked for (0: not at all);
##         categories, splits may be by sets of codes; linear, leaves add linear functions of rows that walk;
##         loss, statements that set g and h from margin, label and output; weighted; n_exponents, counts of a tree;
##         ahead, next quanta are written; local_nodes, nodes in local memory where rows walk there (0: they do not), with codes of local_words words
<%page args="wg_size, walk, chunk, code, prefetch, categories, linear, loss, weighted, n_exponents, ahead, local_nodes, local_words"/>
<%namespace name="ahead_of" file="quanta_ahead.cl.mako"/>
<%namespace name="codes" file="row_codes.cl.mako"/>
<%namespace name="exponents" file="exponents.cl.mako"/>
<%namespace name="leaf_of_rows" file="leaf_of_rows.cl.mako"/>
<%namespace name="local_walk" file="local_walk.cl.mako"/>
<%namespace name="losses" file="loss.cl.mako"/>
<%namespace name="outputs" file="outputs.cl.mako"/>
<%
    of_terms = (
        "const u32 n_features, GLOBAL const f32* RESTRICT values, GLOBAL const u32* RESTRICT term_begin, "
        "GLOBAL const f32* RESTRICT intercepts,\n        GLOBAL const u32* RESTRICT term_features, "
        "GLOBAL const f32* RESTRICT term_coefficients, ")
%>\

% if walk:
${local_walk.functions(wg_size) if local_nodes else codes.in_rows(code)}
% if loss:
${losses.gradient(loss)}
% endif
% if ahead:
${ahead_of.functions(wg_size)}
% endif
KERNEL(${wg_size}) add_leaves(
        const u32 n_rows, const u32 first_row, const u32 page_rows, const u32 first_tree,
        const u32 n_trees, const u32 n_parallel,
        ${"const u32 n_nodes, GLOBAL const u32x4* RESTRICT codes" if local_nodes else codes.row_parameters(code)},
        GLOBAL const u32x4* RESTRICT steps, ${"GLOBAL const u32* RESTRICT sets, " if categories else ""}${of_terms if linear else ""}
% if loss:
        const u64 label_stride, GLOBAL const f32* RESTRICT labels, ${"GLOBAL const f32* RESTRICT weights, " if weighted else ""}GLOBAL u32* exponents,
% endif
% if ahead:
        ${ahead_of.parameters()},
% endif
        GLOBAL f32* RESTRICT margins) {
% if loss:
    LOCAL_ARRAY(u32, counts, ${n_exponents});
% endif
${outputs.trees_of_output()}\
    margins += first_row;
% if loss:
    labels += output * label_stride + first_row;
    exponents += ${n_exponents} * GROUP_ID_Y;
    for (u32 i = LOCAL_ID; i < ${n_exponents}; i += ${wg_size}) counts[i] = 0;
% endif
% if ahead:
${ahead_of.begin(wg_size)}\
% endif
% if local_nodes:
${local_walk.read_nodes(wg_size, local_nodes, local_words)}\
% endif
    ${"BARRIER();" if loss or local_nodes else ""}
    for (u32 row = GROUP_ID * ${wg_size} + LOCAL_ID; row < page_rows; row += N_GROUPS * ${wg_size}) {
        f32 margin = margins[row];
        ${"const f32 label = labels[row];" if loss else ""}
% if local_nodes:
${local_walk.read_codes(wg_size, local_words)}\
% else:
        const row_t mine = row_of(${codes.row(code)}, row);
% endif
        IN_ORDER
        for (u32 tree = begin; tree < end; tree++) {
${local_walk.walk() if local_nodes else codes.walk(categories)}\
% if linear:
            margin += linear_term(values + (u64)(first_row + row) * n_features, as_f32(step.w), intercepts[leaf],
                                  term_begin[leaf], term_begin[leaf + 1], term_features, term_coefficients);
% elif not local_nodes:
            margin += as_f32(step.w);
% endif
        }
        margins[row] = margin;
% if loss:
% if weighted:
        if (as_u32(weights[first_row + row]) == 0) continue;
% endif
        f32 g, h;
        gradient(margin, label, output, &g, &h);
${exponents.count(n_exponents)}\
% endif
% if ahead:
${ahead_of.write()}\
% endif
    }
% if loss:
${exponents.add_counts(wg_size, n_exponents)}\
% endif
% if ahead:
${ahead_of.end()}\
% endif
}
% else:
${leaf_of_rows.by_rows(
    wg_size, "add_leaves", code, categories, chunk, "+=",
    "GLOBAL f32* own = margins + (u64)(first_tree + node->tree) * n_rows;",
    "const u32 first_tree, GLOBAL const f32* RESTRICT node_values, GLOBAL f32* RESTRICT margins",
    "f32", "node_values[{}]", prefetch)}
% endif
