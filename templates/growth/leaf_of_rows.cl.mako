## leaf_of_rows: the kernel find_leaves, leaves[tree, row] = node; ordered_leaves and update_margins import it
##
##   by_node    `row_nodes` has the node of every row
##   walk       every row walks the tree by its codes
##   by_rows    the nodes' row lists give the rows: less work, if reading out of order is cheap. The node whose list
##              is used is a leaf, or splits into two leaves of the last level. Its rows are in row list depth % 2.
##              `statement` sets or adds what a row gets: {} is the node's id, or its value

<%namespace name="codes" file="row_codes.cl.mako"/>
<%def name="by_node(wg_size)">
KERNEL(${wg_size}) find_leaves(
        const u32 n_rows, const u32 first_row, const u32 page_rows,
        GLOBAL const u32* RESTRICT row_nodes, GLOBAL u32* RESTRICT leaves) {
    row_nodes += (u64)GROUP_ID_Y * n_rows + first_row;
    leaves += (u64)GROUP_ID_Y * n_rows + first_row;
    for (u32 at = GROUP_ID * ${wg_size} + LOCAL_ID; at < page_rows; at += N_GROUPS * ${wg_size})
        leaves[at] = row_nodes[at];
}
</%def>
<%def name="walk(wg_size, code, categories)">
${codes.in_rows(code)}
KERNEL(${wg_size}) find_leaves(
        const u32 n_rows, const u32 first_row, const u32 page_rows,
        ${codes.row_parameters(code)}, GLOBAL const u32x4* RESTRICT steps,
% if categories:
        GLOBAL const u32* RESTRICT sets,
% endif
        GLOBAL u32* RESTRICT leaves) {
    const u32 tree = GROUP_ID_Y;
    for (u32 at = GROUP_ID * ${wg_size} + LOCAL_ID; at < page_rows; at += N_GROUPS * ${wg_size}) {
        const row_t mine = row_of(${codes.row(code)}, at);
${codes.walk(categories)}\
        leaves[(u64)tree * n_rows + first_row + at] = leaf;
    }
}
</%def>
<%def name="by_rows(wg_size, name, code, categories, chunk, statement, own, more, word='u32', of='{}', prefetch=0)">
<% goes_left = "row_goes_left" if categories else "code_goes_left" %>\
${codes.in_columns(code)}
KERNEL(${wg_size}) ${name}(
        const u32 n_rows, const u32 first_row, ${codes.column_parameters(code)},
        GLOBAL const u32* RESTRICT header, GLOBAL const u32* RESTRICT task_begin,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const u32* RESTRICT even_rows,
        GLOBAL const u32* RESTRICT odd_rows, GLOBAL const u32* RESTRICT feature_bins,
        ${"const u32 set_words, GLOBAL const u32* RESTRICT sets, " if categories else ""}${more}) {
    const u32 n_nodes = header[0], n_tasks = header[1];
    for (u32 task = GROUP_ID; task < n_tasks; task += N_GROUPS) {
        const u32 id = find_node(task_begin, n_nodes, task);
        GLOBAL const node_t* node = &nodes[id];
        GLOBAL const u32* rows = (node->depth & 1) ? odd_rows : even_rows;
        const u32 in_order = node->in_order, base = node->tree * n_rows;
        ${own}
        const u32 begin = node->begin + (task - task_begin[id]) * ${chunk};
        const u32 node_end = node->begin + node->count;
        const u32 end = begin + ${chunk} < node_end ? begin + ${chunk} : node_end;
        if (node->left == NO_NODE) {
            const ${word} leaf = ${of.format("id")};
            PLAIN for (u32 position = begin + LOCAL_ID; position < end; position += ${wg_size})
                own[in_order ? position - base : rows[position]] ${statement} leaf;
        } else { /* into leaves of the last level */
            const ${word} left = ${of.format("node->left")}, right = ${of.format("node->left + 1")};
% if wg_size == 1:
            const ${word} leaves[2] = {right, left}; /* a compiler makes a branch of a choice, which chance mispredicts */
% endif
% if categories:
            const row_split_t split = row_split(
                code_split(node->bin, node->default_left, feature_bins[node->feature]),
                node->split_kind, sets, (u64)(node->left / 2) * set_words);
% else:
            const code_split_t split =
                code_split(node->bin, node->default_left, feature_bins[node->feature]);
% endif
            const column_t column = column_of(${codes.column(code)}, node->feature);
            PLAIN for (u32 position = begin + LOCAL_ID; position < end; position += ${wg_size}) {
                const u32 row = in_order ? position - base : rows[position];
% if prefetch and code != "tiled":
                if (!in_order && position + ${prefetch} < end) {
                    const u32 later = rows[position + ${prefetch}];
                    PREFETCH_FAR(own + later);
                    PREFETCH_FAR(column.codes + (later - first_row) * column.row_stride);
                }
% endif
                const u32 goes_left = ${goes_left}(code_of(column, row - first_row), split);
                own[row] ${statement} ${"leaves[goes_left]" if wg_size == 1 else "goes_left ? left : right"};
            }
        }
    }
}
</%def>
