## picked_nodes: the nodes of a step that split: those of a level, or those that a policy has picked; templates import it
##
## picked: whether a policy picks nodes, which `picked` lists; where it picks none, kernels have no such argument

<%def name="node_of(picked)">
% if picked:
#define NODE_OF(index) picked[index]
% else:
#define NODE_OF(index) (first + (index))
% endif
</%def>

<%def name="count(picked)">
% if picked:
    const u32 count = n_trees;
    (void)levels; (void)step;
% else:
    const u32 first = levels[step].first, count = levels[step].count;
    (void)n_trees;
% endif
</%def>

<%def name="rank_of(rank)">
FN f32 rank_of(GLOBAL const node_t* node, const f32 gain) {
    (void)node; (void)gain;
    return ${rank};
}
</%def>

## Split the nodes that `picked` lists, and make the row tasks of the first `n_listed`. `gain` is an expression of the
## index, and of the node's id. Leaves next_first, n_split and n_tasks.
<%def name="split_picks(wg_size, row_chunk, n_picks, n_listed, gain)">
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u32 next_first = levels[step].first + levels[step].count, n_picks = ${n_picks};
    u32 n_split = 0, n_tasks = 0;
    for (u32 base = 0; base < n_picks; base += ${wg_size}) {
        const u32 index = base + LOCAL_ID;
        const u32 id = index < n_picks ? picked[index] : NO_NODE, split = id != NO_NODE;
        const u32 tasks = split && index < ${n_listed} ? tasks_of(nodes[id].count, ${row_chunk}) : 0;
        u32 more_split, more_tasks;
        const u32 rank = n_split + group_scan(split, shared, &more_split);
        const u32 my_tasks = n_tasks + group_scan(tasks, shared, &more_tasks);
        if (index < n_picks) row_task_begin[index] = my_tasks;
        if (split) {
            split_node(nodes, payload, id, next_first + 2 * rank, &kept[id], ${gain});
            child_rows[2 * rank] = child_rows[2 * rank + 1] = 0; /* `partition` counts */
        }
        n_split += more_split;
        n_tasks += more_tasks;
    }
    for (u32 index = LOCAL_ID; index < (has_monotone ? n_picks : 0); index += ${wg_size}) {
        const u32 id = picked[index];
        if (id == NO_NODE) continue;
        const rule_t rule = node_rule(scale + nodes[id].tree, reg_lambda, reg_alpha, max_delta_step, node_bounds[id]);
        bound_children(payload, nodes[id].left, rule, monotone[nodes[id].feature]);
    }
    if (LOCAL_ID == 0) row_task_begin[n_picks] = levels[step].row_tasks = n_tasks;
</%def>
