## partition: the rows of every node that splits, stably to its two children
## uses: structs tasks
##
##   node's rows     a B c D E f        capitals go left
##   count           tasks |a B c|D E f|   lefts per task  1 2   (and a flag per row)
##   (place)         lefts before a task   0 1
##   scatter         B D E|a c f        left child, right child; the order within stays
##
## params: wg_size; chunk, rows a task; code, the code's type
<%page args="wg_size, chunk, code"/>
<%namespace name="group" file="group.cl.mako"/>
${group.exclusive_scan("group_scan", "u32", wg_size)}

KERNEL(${wg_size}) count(
        const u32 depth, const u32 n_rows, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const u32* RESTRICT task_begin,
        GLOBAL const u32* RESTRICT rows, GLOBAL const ${code}* RESTRICT by_feature,
        GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL u8* RESTRICT goes_left, GLOBAL u32* RESTRICT task_left) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u32 n_tasks = levels[depth].row_tasks;
    for (u32 task = GROUP_ID; task < n_tasks; task += N_GROUPS) {
        const u32 index = find_node(task_begin, levels[depth].count, task);
        GLOBAL const node_t* node = &nodes[levels[depth].first + index];
        const u32 begin = node->begin + (task - task_begin[index]) * ${chunk};
        const u32 node_end = node->begin + node->count;
        const u32 end = begin + ${chunk} < node_end ? begin + ${chunk} : node_end;
        const u32 feature = node->feature, bin = node->bin, missing = feature_bins[node->feature];
        const u32 default_left = node->default_left;
        GLOBAL const ${code}* codes = by_feature + (u64)feature * n_rows;
        u32 lefts = 0;
        for (u32 position = begin + LOCAL_ID; position < end; position += ${wg_size}) {
            const u32 c = codes[rows[position]];
            const u32 left = c == missing ? default_left : c <= bin;
            goes_left[position] = (u8)left;
            lefts += left;
        }
        u32 total;
        group_scan(lefts, shared, &total);
        if (LOCAL_ID == 0) task_left[task] = total;
    }
}

KERNEL(${wg_size}) scatter(
        const u32 depth, GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL const u32* RESTRICT task_left,
        GLOBAL const u8* RESTRICT goes_left, GLOBAL const u32* RESTRICT rows,
        GLOBAL u32* RESTRICT moved) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u32 n_tasks = levels[depth].row_tasks;
    for (u32 task = GROUP_ID; task < n_tasks; task += N_GROUPS) {
        const u32 index = find_node(task_begin, levels[depth].count, task);
        GLOBAL const node_t* node = &nodes[levels[depth].first + index];
        const u32 begin = node->begin + (task - task_begin[index]) * ${chunk};
        const u32 node_end = node->begin + node->count;
        const u32 lefts_before = task_left[task] - task_left[task_begin[index]];
        u32 left_at = nodes[node->left].begin + lefts_before;
        u32 right_at = nodes[node->left + 1].begin + (begin - node->begin) - lefts_before;
        /* each work-item takes neighbouring rows */
        const u32 size = node_end - begin < ${chunk} ? node_end - begin : ${chunk};
        const u32 run = (size + ${wg_size - 1}) / ${wg_size};
        const u32 run_begin = LOCAL_ID * run < size ? LOCAL_ID * run : size;
        const u32 run_end = run_begin + run < size ? run_begin + run : size;
        u32 lefts = 0, total;
        for (u32 i = run_begin; i < run_end; i++) lefts += goes_left[begin + i];
        lefts = group_scan(lefts, shared, &total);
        left_at += lefts;
        right_at += run_begin - lefts;
        for (u32 i = run_begin; i < run_end; i++) {
            const u32 row = rows[begin + i];
            if (goes_left[begin + i]) moved[left_at++] = row;
            else moved[right_at++] = row;
        }
    }
}
