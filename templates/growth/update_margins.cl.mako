## update_margins: margin[row] += value of the row's leaf
## uses: structs tasks decision blocks
## uses if categories: set_decision
##
##   walk      every row walks the tree by its codes; rows are read in order
##   by_rows   the nodes' row lists give the rows: less work, if reading out of order is cheap. The
##             node whose list is used is a leaf, or splits into two leaves of the last level. Its rows
##             are in row list depth % 2. Every output has only one tree in a batch, as two trees would
##             write the same margin.
##
## params: wg_size; walk, whether rows walk the tree; chunk, rows of a task;
##         code, the code's type, or tiled; prefetch, rows ahead that are asked for (0: not at all);
##         categories, splits may be by sets of codes
<%page args="wg_size, walk, chunk, code, prefetch, categories"/>
<% goes_left = "row_goes_left" if categories else "code_goes_left" %>\
<%namespace name="codes" file="row_codes.cl.mako"/>

% if walk:
${codes.in_rows(code)}
KERNEL(${wg_size}) add_leaves(
        const u32 n_rows, const u32 first_row, const u32 page_rows, const u32 first_tree,
        const u32 n_trees, const u32 n_parallel,
        ${codes.row_parameters(code)},
        GLOBAL const u32x4* RESTRICT steps, ${"GLOBAL const u32* RESTRICT sets, " if categories else ""}GLOBAL f32* RESTRICT margins) {
    /* work-groups with GROUP_ID_Y = k add the trees of one output, one after the other */
    const u32 output = first_tree / n_parallel + GROUP_ID_Y;
    const u32 begin = output * n_parallel < first_tree ? 0 : output * n_parallel - first_tree;
    const u32 own_end = (output + 1) * n_parallel - first_tree;
    const u32 end = own_end < n_trees ? own_end : n_trees;
    margins += (u64)output * n_rows;
    margins += first_row;
    for (u32 row = GROUP_ID * ${wg_size} + LOCAL_ID; row < page_rows; row += N_GROUPS * ${wg_size}) {
        const row_t mine = row_of(${codes.row(code)}, row);
        f32 margin = margins[row];
        IN_ORDER
        for (u32 tree = begin; tree < end; tree++) {
${codes.walk(categories)}\
            margin += as_f32(step.w);
        }
        margins[row] = margin;
    }
}
% else:
${codes.in_columns(code)}
KERNEL(${wg_size}) add_leaves(
        const u32 n_rows, const u32 first_row, const u32 first_tree,
        ${codes.column_parameters(code)}, GLOBAL const u32* RESTRICT header,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const f32* RESTRICT node_values,
        GLOBAL const u32* RESTRICT even_rows, GLOBAL const u32* RESTRICT odd_rows,
        GLOBAL const u32* RESTRICT feature_bins, ${"const u32 set_words, GLOBAL const u32* RESTRICT sets, " if categories else ""}GLOBAL f32* RESTRICT margins) {
    const u32 n_nodes = header[0], n_tasks = header[1];
    for (u32 task = GROUP_ID; task < n_tasks; task += N_GROUPS) {
        const u32 id = find_node(task_begin, n_nodes, task);
        GLOBAL const node_t* node = &nodes[id];
        GLOBAL const u32* rows = (node->depth & 1) ? odd_rows : even_rows;
        const u32 in_order = node->in_order;
        const u32 base = node->tree * n_rows;
        GLOBAL f32* own = margins + (u64)(first_tree + node->tree) * n_rows;
        const u32 begin = node->begin + (task - task_begin[id]) * ${chunk};
        const u32 node_end = node->begin + node->count;
        const u32 end = begin + ${chunk} < node_end ? begin + ${chunk} : node_end;
        if (node->left == NO_NODE) {
            const f32 value = node_values[id];
            PLAIN for (u32 position = begin + LOCAL_ID; position < end; position += ${wg_size})
                own[in_order ? position - base : rows[position]] += value;
        } else {
            const f32 left = node_values[node->left], right = node_values[node->left + 1];
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
                    PREFETCH(own + later);
                    PREFETCH(column.codes + (later - first_row) * column.row_stride);
                }
% endif
                own[row] += ${goes_left}(code_of(column, row - first_row), split) ? left : right;
            }
        }
    }
}
% endif
