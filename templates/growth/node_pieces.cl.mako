## node_pieces: what is done for the pieces of each node's entries: tasks, sums over pieces, the best of them
## uses: portable_math structs tasks gain
##
##   node's entries   |a B c|D E f|g H|      pieces of a node; `exact` and `columns` work on each
##   begin_entries gives the roots all entries; list_pieces cuts the entries of new nodes, and list_moves
##   those of nodes that split
##   carry            what the first and the last segment of each piece have in other pieces
##   best_piece       the best of the splits that were found in pieces
##   place_entries    lefts before each piece, where the children's entries lie, and how many there are
##
## params: wg_size; chunk, entries of a piece of `columns`; search_chunk, those of a piece of `exact`;
##         missing, some rows have no entry in some feature;
##         picked, nodes of every tree that split, rather than those of a level
<%page args="wg_size, chunk, search_chunk, missing, picked"/>
<%namespace name="candidates" file="candidates.cl.mako"/>
<%namespace name="carries" file="carries.cl.mako"/>
<%namespace name="nodes" file="picked_nodes.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
${group.exclusive_scan("group_scan", "u32", wg_size)}
${candidates.group_best(wg_size)}
${carries.functions(wg_size)}
#define NO_KEY 0xFFFFFFFFu
${nodes.node_of(picked)}
#define SPLITS(id) ((id) != NO_NODE && nodes[id].left != NO_NODE)

BRIEF
KERNEL(${wg_size}) begin_entries(
        const u32 n_entries, GLOBAL u32* RESTRICT entry_begin, GLOBAL u32* RESTRICT entry_end,
        GLOBAL u32* RESTRICT task_begin, GLOBAL u32* RESTRICT node_rough) {
    const u32 tree = GROUP_ID;
    if (LOCAL_ID != 0) return;
    node_rough[tree] = 0;
    entry_begin[tree] = tree * n_entries;
    entry_end[tree] = (tree + 1) * n_entries;
    task_begin[tree] = tree * tasks_of(n_entries, ${search_chunk});
    if (tree + 1 == N_GROUPS) task_begin[tree + 1] = (tree + 1) * tasks_of(n_entries, ${search_chunk});
}

/* Make the tasks of a step's new nodes. */
BRIEF
KERNEL(${wg_size}) list_pieces(
        const u32 step, GLOBAL const level_t* RESTRICT levels, GLOBAL const u32* RESTRICT entry_begin,
        GLOBAL const u32* RESTRICT entry_end, GLOBAL u32* RESTRICT task_begin,
        GLOBAL u32* RESTRICT node_rough) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u32 first = levels[step].first, count = levels[step].count;
    u32 n_tasks = 0, more;
    for (u32 base = 0; base < count; base += ${wg_size}) {
        const u32 index = base + LOCAL_ID, id = first + (index < count ? index : 0);
        const u32 tasks = index < count ? tasks_of(entry_end[id] - entry_begin[id], ${search_chunk}) : 0;
        const u32 begin = n_tasks + group_scan(tasks, shared, &more);
        if (index < count) {
            task_begin[index] = begin;
            node_rough[index] = 0;
        }
        n_tasks += more;
    }
    if (LOCAL_ID == 0) task_begin[count] = n_tasks;
}

/* Make the tasks of the nodes that split in a step. */
BRIEF
KERNEL(${wg_size}) list_moves(
        const u32 step, const u32 n_trees, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes,
        ${"GLOBAL const u32* RESTRICT picked, " if picked else ""}GLOBAL const u32* RESTRICT entry_begin, GLOBAL const u32* RESTRICT entry_end,
        GLOBAL u32* RESTRICT task_begin) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
${nodes.count(picked)}\
    u32 n_tasks = 0, more;
    for (u32 base = 0; base < count; base += ${wg_size}) {
        const u32 index = base + LOCAL_ID, id = NODE_OF(index < count ? index : 0);
        const u32 tasks = index < count && SPLITS(id)
            ? tasks_of(entry_end[id] - entry_begin[id], ${chunk}) : 0;
        const u32 begin = n_tasks + group_scan(tasks, shared, &more);
        if (index < count) task_begin[index] = begin;
        n_tasks += more;
    }
    if (LOCAL_ID == 0) task_begin[count] = n_tasks;
}

KERNEL(${wg_size}) carry(
        const u32 step, GLOBAL const level_t* RESTRICT levels, GLOBAL const u32* RESTRICT task_begin,
        GLOBAL const i64* RESTRICT piece_sums, GLOBAL const u32* RESTRICT piece_ends,
        GLOBAL i64* RESTRICT carries) {
    LOCAL_ARRAY(u32, ends, ${2 * wg_size});
    LOCAL_ARRAY(i64, sums, ${2 * wg_size});
    const u32 count = levels[step].count;
    for (u32 index = GROUP_ID; index < count; index += N_GROUPS) {
        const u32 begin = task_begin[index], end = task_begin[index + 1];
        carry_before(begin, end, piece_sums, piece_ends, carries, ends, sums);
% if missing:
        carry_after(begin, end, piece_sums, piece_ends, carries, ends, sums);
% endif
    }
}

/* One work-group for each node: of equal scores the first piece's is the lower feature and bin. */
KERNEL(${wg_size}) best_piece(
        const u32 step, GLOBAL const level_t* RESTRICT levels, GLOBAL const u32* RESTRICT task_begin,
        GLOBAL const candidate_t* RESTRICT found, GLOBAL candidate_t* RESTRICT chosen) {
${candidates.best_arrays(wg_size)}\
    const u32 index = GROUP_ID;
    if (index >= levels[step].count) return;
    df top = df_make(NO_SCORE, 0.0f);
    u32 top_task = NO_KEY;
    for (u32 task = task_begin[index] + LOCAL_ID; task < task_begin[index + 1]; task += ${wg_size}) {
        const df s = df_make(found[task].score_hi, found[task].score_lo);
        if (s.hi > NO_SCORE && ahead(s, task, top, top_task)) {
            top = s;
            top_task = task;
        }
    }
% if wg_size > 1:
    group_best(&top, &top_task, best_hi, best_lo, best_key);
% endif
    if (LOCAL_ID == 0) {
        if (top_task != NO_KEY) chosen[index] = found[top_task];
        else chosen[index].score_hi = NO_SCORE;
    }
}

/* One work-group for each node that splits. */
KERNEL(${wg_size}) place_entries(
        const u32 step, const u32 n_trees, GLOBAL const level_t* RESTRICT levels,
        GLOBAL node_t* RESTRICT nodes,
        ${"GLOBAL const u32* RESTRICT picked, " if picked else ""}GLOBAL const u32* RESTRICT task_begin, GLOBAL u32* RESTRICT lefts,
        GLOBAL u32* entry_begin, GLOBAL u32* entry_end) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
${nodes.count(picked)}\
    for (u32 index = GROUP_ID; index < count; index += N_GROUPS) {
        const u32 id = NODE_OF(index);
        if (!SPLITS(id)) continue;
        const u32 begin = task_begin[index], end = task_begin[index + 1];
        const u32 per_item = (end - begin + ${wg_size - 1}) / ${wg_size};
        const u32 from = begin + LOCAL_ID * per_item < end ? begin + LOCAL_ID * per_item : end;
        const u32 to = from + per_item < end ? from + per_item : end;
        u32 own = 0, n_left;
        for (u32 task = from; task < to; task++) own += lefts[task];
        u32 before = group_scan(own, shared, &n_left);
        for (u32 task = from; task < to; task++) {
            const u32 more = lefts[task];
            lefts[task] = before;
            before += more;
        }
        if (LOCAL_ID == 0) {
            const u32 left = nodes[id].left, middle = entry_begin[id] + n_left;
            entry_begin[left] = entry_begin[id];
            entry_end[left] = entry_begin[left + 1] = middle;
            entry_end[left + 1] = entry_end[id];
            nodes[left].count = n_left;
            nodes[left + 1].count = entry_end[id] - middle;
        }
    }
}
