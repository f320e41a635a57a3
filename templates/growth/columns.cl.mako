## columns: the entries of every node that splits, to its two children
## uses: structs tasks entries
##
##   node's entries   |a B c|D E f|g H|      pieces; capitals go left
##   count_lefts       1     2     1
##   place_entries     0     1     3         lefts before each piece, and where the children's entries lie
##   move_entries     |B D E H|a c f g|      the order within each side stays: by feature, then by bin
##
##   begin_entries gives the roots all entries; list_pieces cuts the entries of new nodes, or of nodes that
##   split, into pieces.
##
## params: wg_size; chunk, entries of a piece; search_chunk, those of a piece of `exact`;
##         picked, a node of every tree splits, rather than those of a level
<%page args="wg_size, chunk, search_chunk, picked"/>
<%namespace name="pieces" file="pieces_of_nodes.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
<%
    run = -(-chunk // wg_size)
%>
${group.exclusive_scan("group_scan", "u32", wg_size)}
${pieces.piece_of(chunk)}
% if picked:
#define NODE_OF(index) picks[index]
% else:
#define NODE_OF(index) (first + (index))
% endif
#define SPLITS(id) ((id) != NO_NODE && nodes[id].left != NO_NODE)

BRIEF
KERNEL(${wg_size}) begin_entries(
        const u32 n_entries, GLOBAL u32* RESTRICT entry_begin, GLOBAL u32* RESTRICT entry_end,
        GLOBAL u32* RESTRICT task_begin) {
    const u32 tree = GROUP_ID;
    if (LOCAL_ID != 0) return;
    entry_begin[tree] = tree * n_entries;
    entry_end[tree] = (tree + 1) * n_entries;
    task_begin[tree] = tree * tasks_of(n_entries, ${search_chunk});
    if (tree + 1 == N_GROUPS) task_begin[tree + 1] = (tree + 1) * tasks_of(n_entries, ${search_chunk});
}

/* Make the tasks of a step's new nodes. */
BRIEF
KERNEL(${wg_size}) list_pieces(
        const u32 step, GLOBAL const level_t* RESTRICT levels, GLOBAL const u32* RESTRICT entry_begin,
        GLOBAL const u32* RESTRICT entry_end, GLOBAL u32* RESTRICT task_begin) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u32 first = levels[step].first, count = levels[step].count;
    u32 n_tasks = 0, more;
    for (u32 base = 0; base < count; base += ${wg_size}) {
        const u32 index = base + LOCAL_ID, id = first + (index < count ? index : 0);
        const u32 tasks = index < count ? tasks_of(entry_end[id] - entry_begin[id], ${search_chunk}) : 0;
        const u32 begin = n_tasks + group_scan(tasks, shared, &more);
        if (index < count) task_begin[index] = begin;
        n_tasks += more;
    }
    if (LOCAL_ID == 0) task_begin[count] = n_tasks;
}

/* Make the tasks of the nodes that split in a step. */
BRIEF
KERNEL(${wg_size}) list_moves(
        const u32 step, const u32 n_trees, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const u32* RESTRICT picks,
        GLOBAL const u32* RESTRICT entry_begin, GLOBAL const u32* RESTRICT entry_end,
        GLOBAL u32* RESTRICT task_begin) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
% if picked:
    const u32 count = n_trees;
    (void)levels; (void)step;
% else:
    const u32 first = levels[step].first, count = levels[step].count;
    (void)picks; (void)n_trees;
% endif
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

KERNEL(${wg_size}) count_lefts(
        const u32 step, const u32 n_rows, const u32 n_entries, const u32 n_trees,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT picks, GLOBAL const u32* RESTRICT row_nodes,
        GLOBAL u32* RESTRICT lefts, ${pieces.list_arguments()}) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    ${pieces.lists()}
% if picked:
    const u32 count = n_trees;
    (void)levels; (void)step;
% else:
    const u32 first = levels[step].first, count = levels[step].count;
    (void)picks; (void)n_trees;
% endif
    const u32 n_tasks = task_begin[count];
    for (u32 task = GROUP_ID; task < n_tasks; task += N_GROUPS) {
        const u32 index = find_node(task_begin, count, task), id = NODE_OF(index);
        GLOBAL const node_t* node = &nodes[id];
        const piece_t piece = piece_of(node, id, task - task_begin[index], n_entries, entry_begin,
                                       entry_end, every, even, odd);
        GLOBAL const u32* own = row_nodes + (u64)node->tree * n_rows;
        const u32 left = node->left;
        u32 n_left = 0, total;
        for (u32 i = LOCAL_ID; i < piece.size; i += ${wg_size})
            n_left += own[piece.entries.rows[i]] == left;
        group_scan(n_left, shared, &total);
        if (LOCAL_ID == 0) lefts[task] = total;
    }
}

/* One work-group for each node that splits. */
KERNEL(${wg_size}) place_entries(
        const u32 step, const u32 n_trees, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const u32* RESTRICT picks,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL u32* RESTRICT lefts,
        GLOBAL u32* entry_begin, GLOBAL u32* entry_end) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
% if picked:
    const u32 count = n_trees;
    (void)levels; (void)step;
% else:
    const u32 first = levels[step].first, count = levels[step].count;
    (void)picks; (void)n_trees;
% endif
    for (u32 index = GROUP_ID; index < count; index += N_GROUPS) {
        const u32 id = NODE_OF(index);
        if (!SPLITS(id)) continue;
        const u32 begin = task_begin[index], end = task_begin[index + 1];
        u32 n_left = 0, more;
        for (u32 base = begin; base < end; base += ${wg_size}) {
            const u32 task = base + LOCAL_ID, own = task < end ? lefts[task] : 0;
            const u32 before = n_left + group_scan(own, shared, &more);
            if (task < end) lefts[task] = before;
            n_left += more;
        }
        if (LOCAL_ID == 0) {
            const u32 left = nodes[id].left, middle = entry_begin[id] + n_left;
            entry_begin[left] = entry_begin[id];
            entry_end[left] = entry_begin[left + 1] = middle;
            entry_end[left + 1] = entry_end[id];
        }
    }
}

KERNEL(${wg_size}) move_entries(
        const u32 step, const u32 n_rows, const u32 n_entries, const u32 n_trees,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT picks, GLOBAL const u32* RESTRICT row_nodes,
        GLOBAL const u32* RESTRICT lefts, GLOBAL u32* moved_even_rows, GLOBAL u32* moved_even_places,
        GLOBAL u32* moved_odd_rows, GLOBAL u32* moved_odd_places, ${pieces.list_arguments()}) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    LOCAL_ARRAY(u32, staged_rows, ${chunk});
    LOCAL_ARRAY(u32, staged_places, ${chunk});
    ${pieces.lists()}
% if picked:
    const u32 count = n_trees;
    (void)levels; (void)step;
% else:
    const u32 first = levels[step].first, count = levels[step].count;
    (void)picks; (void)n_trees;
% endif
    const u32 n_tasks = task_begin[count];
    for (u32 task = GROUP_ID; task < n_tasks; task += N_GROUPS) {
        const u32 index = find_node(task_begin, count, task), id = NODE_OF(index);
        GLOBAL const node_t* node = &nodes[id];
        const piece_t piece = piece_of(node, id, task - task_begin[index], n_entries, entry_begin,
                                       entry_end, every, even, odd);
        GLOBAL const u32* own = row_nodes + (u64)node->tree * n_rows;
        const u32 left = node->left;
        const u32 begin = LOCAL_ID * ${run} < piece.size ? LOCAL_ID * ${run} : piece.size;
        const u32 end = begin + ${run} < piece.size ? begin + ${run} : piece.size;
        u32 n_left = 0, total;
        for (u32 i = begin; i < end; i++) n_left += own[piece.entries.rows[i]] == left;
        u32 left_at = group_scan(n_left, shared, &total);
        u32 right_at = total + begin - left_at;
        for (u32 i = begin; i < end; i++) {
            const u32 row = piece.entries.rows[i];
            const u32 at = own[row] == left ? left_at++ : right_at++;
            staged_rows[at] = row;
            staged_places[at] = piece.entries.places[i];
        }
        BARRIER();
        /* positions of the task's first left and, counted back by its lefts, of its first right */
        const u32 left_base = entry_begin[left] + lefts[task];
        const u32 right_base = entry_begin[left + 1] + (piece.begin - entry_begin[id] - lefts[task]) - total;
        GLOBAL u32* to_rows = node->depth % 2 ? moved_even_rows : moved_odd_rows;
        GLOBAL u32* to_places = node->depth % 2 ? moved_even_places : moved_odd_places;
        for (u32 i = LOCAL_ID; i < piece.size; i += ${wg_size}) {
            const u32 to = (i < total ? left_base : right_base) + i;
            to_rows[to] = staged_rows[i];
            to_places[to] = staged_places[i];
        }
        BARRIER();
    }
}
