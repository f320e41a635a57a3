## partition_ballots: moves a task's rows with votes of warps, 32 work-items of NVIDIA's; `partition` imports it
##
##   a warp's run     row 0 .. 31   row 32 .. 63   ..     a work-item has every 32nd row
##   votes            1 0 0 1 1 ..  0 1 1 0 ..            whose rows go left
##   place            the warps' rows before, then the rows before in the run: 1s in the votes
##
##   The rows stay in registers. Warps agree with each other once a task, on how many rows go left.

<%def name="move_rows(wg_size, run, goes_left, split_type)">
/* The node of a task, as `find_node` finds it: a warp looks at 32 nodes at a time. */
FN u32 find_node_by_warp(GLOBAL const u32* task_begin, const u32 n_nodes, const u32 task) {
    const u32 lane = LOCAL_ID % 32;
    u32 first = 0, count = n_nodes;
    while (count > 1) {
        const u32 step = (count + 31) / 32;
        const u32 at = lane * step, begun = at < count && task_begin[first + (at < count ? at : 0)] <= task;
        u32 votes;
        WARP_BALLOT(votes, begun);
        const u32 skipped = (POPCOUNT(votes) - 1) * step;
        first += skipped;
        count = count - skipped < step ? count - skipped : step;
    }
    return first;
}

/* Move a task's rows. A work-item has every 32nd row of its warp's run; `lefts` has a bit for each. */
FN void move_rows(const task_t task, GLOBAL const u32* rows, GLOBAL u32* moved,
                  const column_t column, const ${split_type} split, const children_t children,
                  LOCAL u32* counts, LOCAL u32* taken) {
    const u32 lane = LOCAL_ID % 32, warp = LOCAL_ID / 32, begin = warp * ${32 * run};
    u32 votes, lefts = 0, n_left = 0;
% for i in range(run):
    const u32 at_${i} = begin + ${32 * i} + lane;
    const u32 row_${i} = row_of(task, rows, at_${i} < task.size ? at_${i} : 0);
% endfor
% for i in range(run):
    const u32 code_${i} = code_of(column, row_${i} - task.first_row);
% endfor
% for i in range(run):
    lefts |= (u32)(at_${i} < task.size && ${goes_left}(code_${i}, split)) << ${i};
% endfor
% for i in range(run):
    WARP_BALLOT(votes, lefts & ${1 << i}u);
    n_left += POPCOUNT(votes);
% endfor
    if (lane == 0) counts[warp] = n_left;
    BARRIER();
    u32 before = 0, total = 0;
    for (u32 other = 0; other < ${wg_size // 32}; other++) {
        before += other < warp ? counts[other] : 0;
        total += counts[other];
    }
    const u32 n_right = task.size - total;
    if (LOCAL_ID == 0) taken[0] = task.node_begin + take_places(children, 0, total);
    if (LOCAL_ID == ${wg_size - 1}) taken[1] = task.node_end - n_right - take_places(children, 1, n_right);
    BARRIER();
    u32 left_at = taken[0] + before, right_at = taken[1] + begin - before + lane;
% for i in range(run):
    WARP_BALLOT(votes, lefts & ${1 << i}u);
    {
        const u32 below = POPCOUNT(votes & ((1u << lane) - 1));
        if (at_${i} < task.size) moved[lefts & ${1 << i}u ? left_at + below : right_at - below] = row_${i};
        left_at += POPCOUNT(votes);
        right_at += 32 - POPCOUNT(votes);
    }
% endfor
}
</%def>
