## pieces: the arguments of the histogram kernels, and the rows that a work-group adds up at a time; they import it
##
##   tasks    |n0 n0 n0|n2|n2 n2|n5|       chunks of rows, as in tasks.h
##   groups   |--g0--|--g1--|---g2--|      each takes a run of tasks
##   pieces   |--n0--|n0|n2 |n2 n2|n5|      tasks of one node in one group

<%def name="pieces(chunk)">
typedef struct {
    u32 node_first, node_last; /* the node's tasks: the first, and the first behind them */
    u32 last;                  /* the first task behind the piece */
    u32 begin, end;            /* its rows, by their places in the node's row list */
    u32 base;                  /* where the node's tree has its quanta */
    u32 in_order;              /* the node has all rows, and no list */
} piece_t;

/* The piece that begins with a task; `task_begin` points to the entry of the task's node. */
FN piece_t piece_of(GLOBAL const node_t* node, GLOBAL const u32* task_begin, const u32 task,
                    const u32 my_last, const u32 n_rows) {
    const u32 node_end = node->begin + node->count;
    piece_t piece;
    piece.node_first = task_begin[0];
    piece.node_last = task_begin[1];
    piece.last = piece.node_last < my_last ? piece.node_last : my_last;
    piece.begin = node->begin + (task - piece.node_first) * ${chunk};
    piece.end = node->begin + (piece.last - piece.node_first) * ${chunk};
    if (piece.end > node_end || piece.last == piece.node_last) piece.end = node_end;
    piece.base = node->tree * n_rows;
    piece.in_order = node->in_order;
    return piece;
}
</%def>

## What every histogram kernel is given: codes of dense rows, or cells of tiles. `sum` is the type of a pool's sums.
<%def name="arguments(dense, code='u32x4', quanta='i32x2', place='u32', fullest='u32x4', sum='i64', more='')">\
        const u32 depth, ${"const u32 row_stride, const u32 block_stride, const u32 paired, " if dense else ""}const u32 n_codes,
        ${more}const u32 n_rows, const u32 first_row,${"" if dense else " const u32 row_words,"}
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL const u32* RESTRICT even_rows,
        GLOBAL const u32* RESTRICT odd_rows,
% if dense:
        GLOBAL const ${code}* RESTRICT codes, GLOBAL const ${quanta}* RESTRICT quanta,
        GLOBAL const ${quanta}* RESTRICT high_words, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const ${place}* RESTRICT place_offset, GLOBAL const ${fullest}* RESTRICT fullest,
% else:
        GLOBAL const i32x2* RESTRICT quanta,
        GLOBAL const i32x2* RESTRICT high_words, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT row_begin, GLOBAL const u16* RESTRICT cells,
% endif
        GLOBAL const u32* RESTRICT ranges, GLOBAL ${sum}* pool, GLOBAL ${sum}* partial\
</%def>

## The tasks of a work-group; it ends here if it has none.
<%def name="own_tasks()">\
    const u32 n_tasks = levels[depth].hist_tasks;
    const u32 my_first = first_task(n_tasks, GROUP_ID_Y, N_GROUPS_Y);
    const u32 my_last = first_task(n_tasks, GROUP_ID_Y + 1, N_GROUPS_Y);
    if (my_first == my_last) return;
</%def>

## The pieces of a work-group. `target` is where a piece's node has its sums: in the pool or, with `partials`, for a node
## that straddles groups, in one of the group's two partial histograms. `clears`: nobody has cleared the target.
## `alone`: no other group adds to it.
<%def name="each_piece(sum, partials, adds)">
<% words = 2 if sum == "i64" else 1 %>\
    const u32 first_node = levels[depth].first, n_nodes = levels[depth].count;
    u32 task = my_first;
    u32 index = find_node(task_begin, n_nodes, task);
    while (task < my_last) {
        while (task_begin[index + 1] <= task) index++;
        GLOBAL const node_t* node = &nodes[first_node + index];
        const piece_t piece = piece_of(node, task_begin + index, task, my_last, n_rows);
        GLOBAL const u32* rows = node->depth % 2 ? odd_rows : even_rows;
        const u32 wide = scale[node->tree].wide;
        GLOBAL ${sum}* target = pool + ${"2 * " if words == 2 else ""}(u64)node->slot * n_codes;
% if partials:
        const int straddles = piece.node_first < my_first || piece.node_last > my_last;
        if (piece.node_first < my_first) target = partial + ${2 * words} * (u64)GROUP_ID_Y * n_codes;
        else if (straddles) target = partial + (${2 * words} * (u64)GROUP_ID_Y + ${words}) * n_codes;
        const int alone = 1, clears = ${"straddles" if adds else "1"};
% else:
        /* `partition` clears what several groups${", or several pages," if adds else ""} may add to */
        const int alone = piece.node_last - piece.node_first == 1, clears = ${"0" if adds else "alone"};
% endif
        (void)alone;
        ${caller.body()}
        task = piece.last;
    }
</%def>
