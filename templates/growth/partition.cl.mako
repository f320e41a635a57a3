## partition: the rows of every node that splits, to its two children
## uses: structs tasks decision
##
##   node's rows    |a B c D|E f G H|     tasks of `chunk` rows; capitals go left
##   in a task       B D a c|E G H f      lefts first, the order within each side stays
##   moved           B D E G H f c a ..   a task takes its places from the children's counters:
##                   left ->   <- right   lefts from the front, rights from the back
##
##   Which task comes first is left to chance. Sums over rows are integers, so nothing that reaches
##   a model depends on it.
##
##   `child_rows` counts the rows of each child over all pages, in which a node has its own rows.
##
## params: wg_size; chunk, rows a task; code, the code's type;
##         picked, a node of every tree splits, rather than those of a level
<%page args="wg_size, chunk, code, picked"/>
<%namespace name="group" file="group.cl.mako"/>
<%
    run = -(-chunk // wg_size)
%>
${group.exclusive_scan("group_scan", "u32", wg_size)}

% if wg_size > 1:
#define LEFT 0x80000000u
/* Runs of neighbours are read at once: a place left out after each keeps them in other banks. */
#define PLACE(i) ((i) + (i) / ${run})
% endif

% if picked:
#define NODE_OF(index) picks[index]
% else:
#define NODE_OF(index) (first + (index))
% endif
/* Pieces of a histogram that are cleared by a work-group each. */
#define PIECES 32

KERNEL(${wg_size}) move(
        const u32 depth, const u32 n_rows, const u32 first_row, const u32 n_trees, const u32 slot_cells,
        const u32 least_cleared,
        const u32 block_features, const u64 row_stride,
        const u64 block_stride,
        GLOBAL const level_t* RESTRICT levels, GLOBAL node_t* nodes,
        GLOBAL u32* RESTRICT child_rows,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL const u32* RESTRICT picks,
        GLOBAL const ${code}* RESTRICT codes, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL i64* RESTRICT pool, GLOBAL u32* even_rows, GLOBAL u32* odd_rows) {
% if wg_size == 1:
    u32 lefts[${chunk}], rights[${chunk}];
% else:
    LOCAL_ARRAY(u32, shared, ${wg_size});
    LOCAL_ARRAY(u32, staged, ${chunk + wg_size});
    LOCAL_ARRAY(u32, taken, 2);
% endif
% if picked:
    const u32 first = 0; /* not of a level: picked ones of any */
    (void)first;
% else:
    const u32 first = levels[depth].first;
    (void)picks;
% endif
    const u32 next_first = levels[depth + 1].first;
    const u32 count = ${"n_trees" if picked else "next_first - first"};
    const u32 n_tasks = levels[depth].row_tasks;

    /* Smaller children are built in the histograms behind those of the splits before. Those that
       one work-group fills, below `least_cleared` rows, are cleared there. */
    const u32 next_slot = (next_first - n_trees) / 2 + n_trees;
    const u32 piece = (slot_cells + PIECES - 1) / PIECES;
    const u32 n_pieces = slot_cells ? count * PIECES : 0;
    for (u32 k = GROUP_ID; k < n_pieces; k += N_GROUPS) {
        const u32 id = NODE_OF(k / PIECES);
        if (id == NO_NODE) continue;
        GLOBAL const node_t* node = &nodes[id];
        if (node->left == NO_NODE || node->count / 2 < least_cleared) continue;
        GLOBAL i64* fresh = pool + (u64)(next_slot + (node->left - next_first) / 2) * slot_cells;
        const u32 begin = k % PIECES * piece;
        const u32 end = begin + piece < slot_cells ? begin + piece : slot_cells;
        for (u32 i = begin + LOCAL_ID; i < end; i += ${wg_size}) fresh[i] = 0;
    }

    for (u32 task = GROUP_ID; task < n_tasks; task += N_GROUPS) {
        const u32 index = find_node(task_begin, count, task);
        GLOBAL const node_t* node = &nodes[NODE_OF(index)];
        const u32 base = node->tree * n_rows, in_order = node->in_order;
        GLOBAL const u32* rows = node->depth % 2 ? odd_rows : even_rows;
        GLOBAL u32* moved = node->depth % 2 ? even_rows : odd_rows;
        const u32 begin = node->begin + (task - task_begin[index]) * ${chunk};
        const u32 node_end = node->begin + node->count;
        const u32 size = node_end - begin < ${chunk} ? node_end - begin : ${chunk};
        const code_split_t split =
            code_split(node->bin, node->default_left, feature_bins[node->feature]);
        GLOBAL const ${code}* column = codes + node->feature / block_features * block_stride
            + node->feature % block_features;
% if wg_size == 1:
        /* both sides are written and one of them counts: no branch is mispredicted */
        u32 n_left = 0, n_right = 0;
        for (u32 i = 0; i < size; i++) {
            const u32 row = in_order ? begin + i - base : rows[begin + i];
            const u32 left = code_goes_left(column[(row - first_row) * row_stride], split);
            lefts[n_left] = row;
            rights[n_right] = row;
            n_left += left;
            n_right += 1 - left;
        }
        const u32 left_at = node->begin + atomic_add_global_u32(&nodes[node->left].count, n_left);
        const u32 right_at = node_end - n_right
            - atomic_add_global_u32(&nodes[node->left + 1].count, n_right);
        atomic_add_global_u32(&child_rows[node->left - next_first], n_left);
        atomic_add_global_u32(&child_rows[node->left + 1 - next_first], n_right);
        for (u32 i = 0; i < n_left; i++) moved[left_at + i] = lefts[i];
        for (u32 i = 0; i < n_right; i++) moved[right_at + i] = rights[i];
% else:
        for (u32 i = LOCAL_ID; i < size; i += ${wg_size}) {
            const u32 row = in_order ? begin + i - base : rows[begin + i];
            const u32 left = code_goes_left(column[(row - first_row) * row_stride], split);
            staged[PLACE(i)] = left ? row | LEFT : row;
        }
        BARRIER();
        const u32 run_begin = LOCAL_ID * ${run} < size ? LOCAL_ID * ${run} : size;
        const u32 run_end = run_begin + ${run} < size ? run_begin + ${run} : size;
        u32 n_left = 0, total;
        for (u32 i = run_begin; i < run_end; i++) n_left += staged[PLACE(i)] >> 31;
        u32 left_at = group_scan(n_left, shared, &total);
        if (LOCAL_ID == 0) {
            taken[0] = atomic_add_global_u32(&nodes[node->left].count, total);
            taken[1] = atomic_add_global_u32(&nodes[node->left + 1].count, size - total);
            atomic_add_global_u32(&child_rows[node->left - next_first], total);
            atomic_add_global_u32(&child_rows[node->left + 1 - next_first], size - total);
        }
        u32 right_at = total + run_begin - left_at;
        u32 mine[${run}];
        for (u32 i = 0; i < ${run}; i++)
            mine[i] = run_begin + i < run_end ? staged[PLACE(run_begin + i)] : 0;
        BARRIER();
        for (u32 i = 0; i < ${run}; i++) {
            if (run_begin + i < run_end) {
                const u32 at = mine[i] & LEFT ? left_at++ : right_at++;
                staged[PLACE(at)] = mine[i] & ~LEFT;
            }
        }
        const u32 left_base = node->begin + taken[0];
        const u32 right_base = node_end - taken[1] - (size - total) - total;
        BARRIER();
        for (u32 i = LOCAL_ID; i < size; i += ${wg_size})
            moved[(i < total ? left_base : right_base) + i] = staged[PLACE(i)];
        BARRIER();
% endif
    }
}
