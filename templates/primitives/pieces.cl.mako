## pieces: the rows that a work-group adds up at a time; the variants of `histogram` import it
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
