## whole_tasks: how work-groups share the tasks of trees that one launch grows; kernels import these defs
##
##   phase   |taken ..    |finished ..    |     counters, each in a cache line: a group takes a phase's next task,
##                                              and who finishes the last one opens the next phase
##
##   A group waits only for tasks that other running groups have taken: a group that has not started has
##   none. So groups may run in any order, and need not run at the same time.

<%def name="phases(counter_words)">
/* Counters of a phase: tasks that were taken, and tasks that are finished; each in a cache line. Before the first
   level there is the phase `begin`. */
#define WORDS ${counter_words}
#define DONE (WORDS / 2)

FN u32 take(GLOBAL u32* phase) { return atomic_add_global_u32(phase, 1); }

/* Count a finished task; returns whether it is the phase's last one. */
FN u32 finishes(GLOBAL u32* phase, const u32 n_tasks) {
    FENCE();
    const u32 before = atomic_add_global_u32(phase + DONE, 1);
    FENCE();
    return before + 1 == n_tasks;
}

FN void open_next(GLOBAL u64* opened, const u32 phase) {
    FENCE();
    WRITE_SHARED_U64(opened, phase + 1);
}

FN void wait_for(GLOBAL u64* opened, const u32 phase) {
    while (READ_SHARED_U64(opened) <= phase) {}
    FENCE();
}
</%def>

<%def name="roots()">
/* Make the roots. */
FN void begin_trees(const u32 n_trees, const u32 n_rows, const u32 n_sums, GLOBAL const i64* sums,
                    GLOBAL level_t* levels, GLOBAL node_t* nodes, const payload_t payload) {
    for (u32 tree = 0; tree < n_trees; tree++) {
        GLOBAL node_t* root = &nodes[tree];
        i64 g = 0, h = 0;
        for (u32 i = tree * n_sums; i < (tree + 1) * n_sums; i++) {
            g += sums[2 * i];
            h += sums[2 * i + 1];
        }
        payload.sums[tree] = MAKE_I64X2(g, h);
        payload.bounds[tree] = no_bounds();
        root->begin = tree * n_rows;
        root->count = n_rows;
        root->in_order = 1;
        root->parent = NO_NODE;
        root->depth = 0;
        root->slot = (i32)tree;
        root->sibling_slot = -1;
        root->tree = tree;
        root->path = 1;
    }
    levels[0].first = 0;
    levels[0].count = n_trees;
    levels[0].row_tasks = levels[0].hist_tasks = 0;
}
</%def>

<%def name="places()">
/* Give two siblings, whose rows are counted, the places of their rows and histograms. */
FN void place_pair(GLOBAL node_t* nodes, const u32 left, const u32 slot) {
    GLOBAL const node_t* parent = &nodes[nodes[left].parent];
    const u32 small = nodes[left + 1].count < nodes[left].count;
    nodes[left].begin = parent->begin;
    nodes[left + 1].begin = parent->begin + nodes[left].count;
    nodes[left + small].slot = (i32)slot;
    nodes[left + small].sibling_slot = -1;
    nodes[left + 1 - small].slot = parent->slot;
    nodes[left + 1 - small].sibling_slot = (i32)slot;
}
</%def>

## Move the rows of a level in the phase `phase + behind`; the loop over levels ends behind the last one.
<%def name="move_level(counters_of_moves, behind)">
        const u32 next_first = levels[depth + 1].first, n_split = levels[depth + 1].count / 2;
        if (depth + 1 == n_levels || n_split == 0) break;
        const u32 next_slot = (next_first - n_trees) / 2 + n_trees;
        GLOBAL u32* moved = ${counters_of_moves};
        for (u32 task = take(moved); task < n_split; task = take(moved)) {
            move_rows(nodes, next_first + 2 * task, next_slot + task, n_rows, codes, feature_bins,
                      even_rows, odd_rows);
            if (finishes(moved, n_split)) open_next(opened, phase + ${behind});
        }
        wait_for(opened, phase + ${behind});
</%def>

<%def name="end_launch(phases)">
    if (finishes(counters, N_GROUPS)) { /* the last one leaves all counters at 0 */
        for (u32 i = 0; i < (${phases} * n_levels + 1) * WORDS; i++) counters[i] = 0;
        WRITE_SHARED_U64(opened, 0);
    }
</%def>

<%def name="moves(code)">
${places()}
/* Move a node's rows to its children: of those that go left the first places, of others the last. */
FN void move_rows(GLOBAL node_t* nodes, const u32 left, const u32 slot, const u32 n_rows,
                  GLOBAL const ${code}* codes, GLOBAL const u32* feature_bins,
                  GLOBAL u32* even_rows, GLOBAL u32* odd_rows) {
    GLOBAL const node_t* node = &nodes[nodes[left].parent];
    GLOBAL const u32* rows = node->depth % 2 ? odd_rows : even_rows;
    GLOBAL u32* moved = node->depth % 2 ? even_rows : odd_rows;
    const right_codes_t right = right_codes(node->bin, node->default_left, feature_bins[node->feature]);
    GLOBAL const ${code}* column = codes + (u64)node->feature * n_rows;
    const u32 begin = node->begin, end = begin + node->count, in_order = node->in_order;
    u32 front = begin; /* the last free place is as far behind it as the last row is behind this one */
    for (u32 at = begin; at < end; at++) {
        const u32 row = in_order ? at - begin : rows[at];
        const u32 goes_right = code_goes_right(column[row], right);
        moved[front + (end - 1 - at & (0u - goes_right))] = row;
        front += 1 - goes_right;
    }
    nodes[left].count = front - begin;
    nodes[left + 1].count = end - front;
    place_pair(nodes, left, slot);
}
</%def>
