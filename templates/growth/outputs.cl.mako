## outputs: margin[row] += values of the row's leaves; `update_margins`, `row_nodes` and `leaves_by_next_order` import it

## Work-groups with GROUP_ID_Y = k add the trees begin .. end - 1 of one output, one after the other.
<%def name="trees_of_output()">
    const u32 output = first_tree / n_parallel + GROUP_ID_Y;
    const u32 begin = output * n_parallel < first_tree ? 0 : output * n_parallel - first_tree;
    const u32 own_end = (output + 1) * n_parallel - first_tree;
    const u32 end = own_end < n_trees ? own_end : n_trees;
    margins += (u64)output * n_rows;
</%def>

## `value` is an expression of the tree, and of the row's node in it, which `leaves` has. A work-item has so many rows
## under way at a time: that hides how long memory takes.
<%def name="add_leaves(wg_size, arrays, value, rows=1)">
KERNEL(${wg_size}) add_leaves(
        const u32 n_rows, const u32 first_tree, const u32 n_trees, const u32 n_parallel,
        ${arrays}, GLOBAL f32* RESTRICT margins) {
${trees_of_output()}\
% if rows > 1:
    const u32 step = N_GROUPS * ${wg_size};
    for (u32 at = GROUP_ID * ${wg_size} + LOCAL_ID; at < n_rows; at += ${rows} * step) {
        f32 own[${rows}];
        for (u32 k = 0; k < ${rows}; k++) own[k] = margins[at + k * step < n_rows ? at + k * step : at];
        IN_ORDER
        for (u32 tree = begin; tree < end; tree++) {
            for (u32 k = 0; k < ${rows}; k++) {
                const u32 row = at + k * step < n_rows ? at + k * step : at;
                own[k] += ${value};
            }
        }
        for (u32 k = 0; k < ${rows}; k++)
            if (at + k * step < n_rows) margins[at + k * step] = own[k];
    }
% else:
    for (u32 row = GROUP_ID * ${wg_size} + LOCAL_ID; row < n_rows; row += N_GROUPS * ${wg_size}) {
        f32 margin = margins[row];
        IN_ORDER
        for (u32 tree = begin; tree < end; tree++)
            margin += ${value};
        margins[row] = margin;
    }
% endif
}
</%def>
