## columns: the entries of every node that splits, to its two children
## uses: structs tasks entries
##
##   node's entries   |a B c|D E f|g H|      pieces; capitals go left
##   count_lefts       010   110   01        a bit for each entry, and their number
##   place_entries     0     1     3         lefts before each piece, see `node_pieces`
##   move_entries     |B D E H|a c f g|      the order within each side stays: by feature, then by bin
##
## params: wg_size; chunk, entries of a piece; picked, nodes of every tree that split, rather than those of a
##         level
<%page args="wg_size, chunk, picked"/>
<%namespace name="pieces" file="pieces_of_nodes.cl.mako"/>
<%namespace name="nodes" file="picked_nodes.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
<%
    words = chunk // 32
%>
${group.exclusive_scan("group_scan", "u32", wg_size)}
${pieces.piece_of(chunk)}
${nodes.node_of(picked)}

/* `row_sides` has a bit for each row of a tree: 1 if the row goes left. */
KERNEL(${wg_size}) count_lefts(
        const u32 first_group, const u32 n_groups, const u32 step, const u32 row_words, const u32 n_entries, const u32 n_trees,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        ${"GLOBAL const u32* RESTRICT picked, " if picked else ""}GLOBAL const u32* RESTRICT row_sides,
        GLOBAL u32* RESTRICT entry_sides, GLOBAL u32* RESTRICT lefts, ${pieces.list_arguments()}) {
    LOCAL_ARRAY(u8, flags, ${chunk});
    LOCAL_ARRAY(u32, shared, ${wg_size});
    ${pieces.lists()}
${nodes.count(picked)}\
    const u32 n_tasks = task_begin[count];
    for (u32 task = first_group + GROUP_ID; task < n_tasks; task += n_groups) {
        const u32 index = find_node(task_begin, count, task), id = NODE_OF(index);
        GLOBAL const node_t* node = &nodes[id];
        const piece_t piece = piece_of(node, id, task - task_begin[index], n_entries, entry_begin,
                                       entry_end, every, even, odd);
        GLOBAL const u32* own = row_sides + (u64)node->tree * row_words;
        for (u32 i = LOCAL_ID; i < ${chunk}; i += ${wg_size}) {
            const u32 row = i < piece.size ? piece.entries.rows[i] : 0;
            flags[i] = i < piece.size ? (u8)((own[row / 32] >> row % 32) & 1) : 0;
        }
        BARRIER();
        u32 n_left = 0, total;
        for (u32 w = LOCAL_ID; w < ${words}; w += ${wg_size}) {
            u32 word = 0;
            for (u32 k = 0; k < 32; k++) word |= (u32)flags[32 * w + k] << k;
            entry_sides[(u64)task * ${words} + w] = word;
            n_left += POPCOUNT(word);
        }
        group_scan(n_left, shared, &total);
        if (LOCAL_ID == 0) lefts[task] = total;
        BARRIER();
    }
}

KERNEL(${wg_size}) move_entries(
        const u32 first_group, const u32 n_groups, const u32 step, const u32 n_entries, const u32 n_trees,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        ${"GLOBAL const u32* RESTRICT picked, " if picked else ""}GLOBAL const u32* RESTRICT entry_sides,
        GLOBAL const u32* RESTRICT lefts, GLOBAL u32* moved_even_rows, GLOBAL u32* moved_even_places,
        GLOBAL i32x2* moved_even_quanta, GLOBAL u32* moved_odd_rows, GLOBAL u32* moved_odd_places,
        GLOBAL i32x2* moved_odd_quanta, ${pieces.list_arguments()}) {
    LOCAL_ARRAY(u32, sides, ${words});
    LOCAL_ARRAY(u32, before, ${words});
    ${pieces.lists()}
${nodes.count(picked)}\
    const u32 n_tasks = task_begin[count];
    for (u32 task = first_group + GROUP_ID; task < n_tasks; task += n_groups) {
        const u32 index = find_node(task_begin, count, task), id = NODE_OF(index);
        GLOBAL const node_t* node = &nodes[id];
        const piece_t piece = piece_of(node, id, task - task_begin[index], n_entries, entry_begin,
                                       entry_end, every, even, odd);
        for (u32 w = LOCAL_ID; w < ${words}; w += ${wg_size})
            sides[w] = entry_sides[(u64)task * ${words} + w];
        BARRIER();
        for (u32 w = LOCAL_ID; w < ${words}; w += ${wg_size}) {
            u32 n_left = 0;
            for (u32 other = 0; other < w; other++) n_left += POPCOUNT(sides[other]);
            before[w] = n_left;
        }
        BARRIER();
        const u32 left_at = entry_begin[node->left] + lefts[task];
        const u32 right_at = entry_begin[node->left + 1] + (piece.begin - entry_begin[id]) - lefts[task];
        GLOBAL u32* to_rows = node->depth % 2 ? moved_even_rows : moved_odd_rows;
        GLOBAL u32* to_places = node->depth % 2 ? moved_even_places : moved_odd_places;
        GLOBAL i32x2* to_quanta = node->depth % 2 ? moved_even_quanta : moved_odd_quanta;
        for (u32 i = LOCAL_ID; i < piece.size; i += ${wg_size}) {
            const u32 side = sides[i / 32], bit = i % 32;
            const u32 n_left = before[i / 32] + POPCOUNT(side & ((1u << bit) - 1));
            const u32 to = (side >> bit) & 1 ? left_at + n_left : right_at + i - n_left;
            to_rows[to] = piece.entries.rows[i];
            to_places[to] = piece.entries.places[i];
            to_quanta[to] = piece.entries.quanta[i];
        }
        BARRIER();
    }
}
