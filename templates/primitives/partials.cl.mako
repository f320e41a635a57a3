## partials: for histogram variants in which each work-group writes two partial histograms
##
##   groups    |--g0--|--g1--|--g2--|      each has consecutive tasks; nodes follow each other
##   nodes     |n0      |n1 |n2     |      n0 is in g0 and g1: g0's second partial and g1's first one

<%def name="reduce(wg_size, adds)">
/* Add the partial histograms of each node whose tasks are in several groups. The second of these groups
   does it. */
KERNEL(${wg_size}) reduce(
        const u32 depth, const u32 n_codes, const u32 n_groups,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL i64* RESTRICT pool,
        GLOBAL const i64* RESTRICT partial) {
    const u32 n_tasks = levels[depth].hist_tasks;
    const u32 group = GROUP_ID_Y;
    const u32 my_first = first_task(n_tasks, group, n_groups);
    if (my_first == first_task(n_tasks, group + 1, n_groups)) return;
    const u32 index = find_node(task_begin, levels[depth].count, my_first);
    const u32 node_first = task_begin[index], node_last = task_begin[index + 1];
    if (node_first == my_first) return;
    const u32 n_used = n_tasks < n_groups ? n_tasks : n_groups; /* groups that have tasks */
    const u32 first_group = (u32)((((u64)node_first + 1) * n_used - 1) / n_tasks);
    if (first_task(n_tasks, first_group + 1, n_groups) != my_first) return;
    const u32 last_group = (u32)(((u64)node_last * n_used - 1) / n_tasks);
    GLOBAL i64* target = pool + 2 * (u64)nodes[levels[depth].first + index].slot * n_codes;
    const u32 begin = (u32)(2 * (u64)n_codes * GROUP_ID / N_GROUPS);
    const u32 end = (u32)(2 * (u64)n_codes * (GROUP_ID + 1) / N_GROUPS);
    for (u32 c = begin + LOCAL_ID; c < end; c += ${wg_size}) {
        i64 sum = ${"target[c] + " if adds else ""}partial[(4 * (u64)first_group + 2) * n_codes + c];
        GLOBAL const i64* own = partial + c;
        u32 g = first_group + 1;
        for (; g + 3 <= last_group; g += 4) { /* four reads at a time */
% for k in range(4):
            const i64 s_${k} = own[4 * (u64)(g + ${k}) * n_codes];
% endfor
            sum += s_0 + s_1 + (s_2 + s_3);
        }
        for (; g <= last_group; g++) sum += own[4 * (u64)g * n_codes];
        target[c] = sum;
    }
}
</%def>
