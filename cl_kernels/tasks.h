/* tasks: the rows of many nodes, cut into chunks for work-groups.

   nodes        n0       n1  n2 (none)  n3
   tasks      |0|1|2|  |3|4|           |5|     whole chunks, and a shorter one at a node's end
   task_begin  0        3    5          5  6   one entry for each node, then the number of tasks */

FN u32 tasks_of(const u32 n_rows, const u32 chunk) { return (n_rows + chunk - 1) / chunk; }

/* The node of a task: the last one that begins at or before it. */
FN u32 find_node(GLOBAL const u32* task_begin, const u32 n_nodes, const u32 task) {
    u32 low = 0, high = n_nodes;
    while (high - low > 1) {
        const u32 middle = (low + high) / 2;
        if (task_begin[middle] <= task) low = middle; else high = middle;
    }
    return low;
}

/* A group's first task, if all groups share the tasks evenly and in order. Of few tasks, each of the first
   groups has one. */
FN u32 first_task(const u32 n_tasks, const u32 group, const u32 n_groups) {
    if (n_tasks < n_groups) return group < n_tasks ? group : n_tasks;
    return (u32)((u64)n_tasks * group / n_groups);
}
