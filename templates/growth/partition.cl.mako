## partition: the rows of every node that splits, to its two children
## uses: structs tasks decision blocks
## uses if categories: set_decision
##
##   node's rows    |a B c D|E f G H|     tasks of `chunk` rows; capitals go left
##   in a task       B D a c|E G H f      lefts first, the order within each side stays
##   moved           B D E G H f c a ..   a task takes its places from the children's counters:
##                   left ->   <- right   lefts from the front, rights from the back
##
##   Which task comes first is left to chance. Sums over rows are integers, so nothing that reaches
##   a model depends on it.
##
##   With `ballots`, each warp of 32 work-items has a run of the task's rows, and finds their places by votes.
##
##   `child_rows` counts the rows of each child over all pages; each page has rows of a node of its own.
##
## params: wg_size; chunk, rows a task; code, the code's type, or tiled;
##         picked, nodes of every tree that split, rather than those of a level; 0: these;
##         ballots, warps vote on where rows go; prefetch, rows ahead whose codes are asked for (0: not at
##         all); categories, splits may be by sets of codes; pieces of a node's histogram that are cleared
<%page args="wg_size, chunk, code, picked, ballots, prefetch, categories, pieces"/>
<%namespace name="nodes" file="picked_nodes.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="codes" file="row_codes.cl.mako"/>
<%namespace name="by_ballots" file="partition_ballots.cl.mako"/>
<%!
    #: Share of all rows up to which a node is `sparse`: codes of its rows are asked for ahead. PoCL, 1 M x 28, processor
    #: ms a level without asking, and with: halves 2.5 and 3.0, quarters 2.9 and 3.2, eighths 3.5 and 3.1, sixteenths 4.1
    #: and 3.4, a sixty-fourth 7.9 and 4.5.
    SPARSE = 8
%>\
<%
    run = -(-chunk // wg_size)
    split_type, splits, goes_left = ("code_split_t", "code_split", "code_goes_left")
    if categories:
        split_type, goes_left = "row_split_t", "row_goes_left"
    elif wg_size == 1:
        split_type, splits, goes_left = "right_codes_t", "right_codes", "!code_goes_right"
    with_ballots = ballots and wg_size % 32 == 0 and run <= 32  # a bit for each row of a work-item
%>
% if not with_ballots:
${group.exclusive_scan("group_scan", "u32", wg_size)}
% endif
${codes.in_columns(code)}
% if wg_size > 1 and not with_ballots:
#define LEFT 0x80000000u
/* Runs of neighbours are read at once: a place left out after each keeps them in other banks. */
#define PLACE(i) ((i) + (i) / ${run})
% endif

${nodes.node_of(picked)}
/* Pieces of a histogram that are cleared by a work-group each. */
#define PIECES ${pieces}

/* Clear the histograms of the next level to which several groups or pages will add: those of smaller
   children. They are built behind the histograms of the splits before. One group alone fills, and
   clears, the histogram of a child whose parent's rows / 2 are fewer than `least_cleared`. */
FN void clear_next(GLOBAL i64* pool, GLOBAL const node_t* nodes, ${"GLOBAL const u32* picked, " if picked else ""}const u32 first,
                   const u32 next_first, const u32 count, const u32 n_trees,
                   const u32 fixed_slot, const u32 slot_cells, const u32 least_cleared) {
    const u32 next_slot = fixed_slot ? fixed_slot : (next_first - n_trees) / 2 + n_trees;
    const u32 piece = (slot_cells + PIECES - 1) / PIECES;
    const u32 n_pieces = slot_cells ? count * PIECES : 0;
    (void)first;
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
}

/* Rows of a node that a task moves: `size` from `begin` on, of the node's list or, without one, in order. */
typedef struct { u32 begin, size, base, in_order, ${"sparse, " if wg_size == 1 else ""}node_begin, node_end, first_row; } task_t;

/* The children's counters: of a page's rows, by which tasks take their places, and of all rows. */
typedef struct { GLOBAL node_t* nodes; GLOBAL u32* rows; } children_t;

/* Take places for n rows among those of a child; return the first. */
FN u32 take_places(const children_t children, const u32 child, const u32 n) {
    atomic_add_global_u32(&children.rows[child], n);
    return atomic_add_global_u32(&children.nodes[child].count, n);
}

FN u32 row_of(const task_t task, GLOBAL const u32* rows, const u32 i) {
    return task.in_order ? task.begin + i - task.base : rows[task.begin + i];
}

% if wg_size == 1:
## Deal rows up to `end` to both sides; both are written and one of them counts, so that no branch is mispredicted.
<%def name="deal(end, row, ask='')">\
    for (; i < ${end}; i++) {
        const u32 row = ${row};${ask}
        const u32 left = ${goes_left}(code_of(column, row - task.first_row), split);
        lefts[n_left] = row;
        rights[i - n_left] = row;
        n_left += left;
    }
</%def>\
/* Move a task's rows. */
FN void move_rows(const task_t task, GLOBAL const u32* rows, GLOBAL u32* moved,
                  const column_t column, const ${split_type} split, const children_t children) {
    u32 lefts[${chunk}], rights[${chunk}];
    u32 n_left = 0, i = 0;
    GLOBAL const u32* own = rows + task.begin;
    if (task.in_order) {
        const u32 first = task.begin - task.base;
${deal("task.size", "first + i")}\
    }
% if prefetch and code != "tiled":
    const u32 n_asked = task.sparse && task.size > ${prefetch} ? task.size - ${prefetch} : 0;
${deal("n_asked", "own[i]", f" PREFETCH(column.codes + (own[i + {prefetch}] - task.first_row) * column.row_stride);")}\
% endif
${deal("task.size", "own[i]")}\
    const u32 n_right = task.size - n_left;
    const u32 left_at = task.node_begin + take_places(children, 0, n_left);
    const u32 right_at = task.node_end - n_right - take_places(children, 1, n_right);
    for (u32 k = 0; k < n_left; k++) moved[left_at + k] = lefts[k];
    for (u32 k = 0; k < n_right; k++) moved[right_at + k] = rights[k];
}
% elif with_ballots:
${by_ballots.move_rows(wg_size, run, goes_left, split_type)}
% else:
/* Order a task's rows in local memory: those that go left first. Returns how many go left, and in
   `taken` the places that the task has from the children's counters. */
FN u32 order_rows(const u32 size, LOCAL u32* staged, LOCAL u32* shared, LOCAL u32* taken,
                  const children_t children) {
    const u32 run_begin = LOCAL_ID * ${run} < size ? LOCAL_ID * ${run} : size;
    const u32 run_end = run_begin + ${run} < size ? run_begin + ${run} : size;
    u32 n_left = 0, total;
    for (u32 i = run_begin; i < run_end; i++) n_left += staged[PLACE(i)] >> 31;
    u32 left_at = group_scan(n_left, shared, &total);
    if (LOCAL_ID == 0) {
        taken[0] = take_places(children, 0, total);
        taken[1] = take_places(children, 1, size - total);
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
    return total;
}
% endif

% if with_ballots:
/* with more registers too few groups would run at a time to hide how long memory takes */
#undef GROUPS_OF_A_UNIT
#define GROUPS_OF_A_UNIT ${max(1, (1024 if code == "tiled" else 1280) // wg_size)}
% endif
KERNEL(${wg_size}) move(
        const u32 depth, const u32 n_rows, const u32 first_row, const u32 n_trees, const u32 fixed_slot,
        const u32 slot_cells, const u32 least_cleared, ${codes.column_parameters(code)},
        GLOBAL const level_t* RESTRICT levels, GLOBAL node_t* nodes, GLOBAL u32* child_rows,
        GLOBAL const u32* RESTRICT task_begin, ${"GLOBAL const u32* RESTRICT picked, " if picked else ""}GLOBAL const u32* RESTRICT feature_bins,
% if categories:
        const u32 set_words, GLOBAL const u32* RESTRICT sets,
% endif
        GLOBAL i64* RESTRICT pool, GLOBAL u32* even_rows, GLOBAL u32* odd_rows) {
% if with_ballots:
    LOCAL_ARRAY(u32, counts, ${wg_size // 32});
    LOCAL_ARRAY(u32, taken, 2);
% elif wg_size > 1:
    LOCAL_ARRAY(u32, shared, ${wg_size});
    LOCAL_ARRAY(u32, staged, ${chunk + wg_size});
    LOCAL_ARRAY(u32, taken, 2);
% endif
    const u32 next_first = levels[depth + 1].first;
% if picked:
    const u32 first = 0; /* not of a level: picked ones of any */
    const u32 count = n_trees * ${picked};
% else:
    const u32 first = levels[depth].first, count = next_first - first;
% endif
    clear_next(pool, nodes, ${"picked, " if picked else ""}first, next_first, count, n_trees, fixed_slot, slot_cells, least_cleared);
    const u32 n_tasks = levels[depth].row_tasks;
    for (u32 number = GROUP_ID; number < n_tasks; number += N_GROUPS) {
        const u32 index = find_node${"_by_warp" if with_ballots else ""}(task_begin, count, number);
        GLOBAL const node_t* node = &nodes[NODE_OF(index)];
        children_t children;
        children.nodes = &nodes[node->left];
        children.rows = &child_rows[node->left - next_first];
        GLOBAL const u32* rows = node->depth % 2 ? odd_rows : even_rows;
        GLOBAL u32* moved = node->depth % 2 ? even_rows : odd_rows;
        task_t task;
        task.begin = node->begin + (number - task_begin[index]) * ${chunk};
        task.node_begin = node->begin;
        task.node_end = node->begin + node->count;
        task.size = task.node_end - task.begin < ${chunk} ? task.node_end - task.begin : ${chunk};
        task.base = node->tree * n_rows;
        task.in_order = node->in_order;
% if wg_size == 1:
        task.sparse = node->count <= n_rows / ${SPARSE};
% endif
        task.first_row = first_row;
        const ${split_type} split =
% if categories:
            row_split(code_split(node->bin, node->default_left, feature_bins[node->feature]),
                      node->split_kind, sets, (u64)(node->left / 2) * set_words);
% else:
            ${splits}(node->bin, node->default_left, feature_bins[node->feature]);
% endif
        const column_t column = column_of(${codes.column(code)}, node->feature);
% if wg_size == 1:
        move_rows(task, rows, moved, column, split, children);
% elif with_ballots:
        move_rows(task, rows, moved, column, split, children, counts, taken);
% else:
        for (u32 i = LOCAL_ID; i < task.size; i += ${wg_size}) {
            const u32 row = row_of(task, rows, i);
            const u32 left = ${goes_left}(code_of(column, row - first_row), split);
            staged[PLACE(i)] = left ? row | LEFT : row;
        }
        BARRIER();
        const u32 total = order_rows(task.size, staged, shared, taken, children);
        const u32 left_base = task.node_begin + taken[0];
        const u32 right_base = task.node_end - taken[1] - (task.size - total) - total;
        BARRIER();
        for (u32 i = LOCAL_ID; i < task.size; i += ${wg_size})
            moved[(i < total ? left_base : right_base) + i] = staged[PLACE(i)];
        BARRIER();
% endif
    }
}
