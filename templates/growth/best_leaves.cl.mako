## best_leaves: best-first growth, several leaves a step: the tree is that of one leaf a step
## uses: portable_math structs gain growth tasks
## uses if smooth: counted_children smoothing
##
##   expanded   a ── b ── d      split in some step; so their gains and those of their children are known
##                 └─ e
##   settled    a ── b           the splits that best-first growth makes, found by playing it with what
##                               is known, up to a leaf that is not expanded: the certain one
##   open       |c|d|e|          settled leaves, expanded or not
##
##   pick_leaves    plays best-first growth as far as it is known; then picks the certain leaf, and the
##                  leaves that come next if no better ones are found
##   decide_leaves  these split: ids of the children; row tasks
##   settle         turns nodes that are expanded, but whose split is not settled, back to leaves
##
##   Leaves that are picked too many cost time alone: no node of the tree leads to them. `made` has the
##   place of a settled node in the order in which best-first growth makes nodes.
##
## params: wg_size; row_chunk, rows in a task; rank, of a leaf whose split gains `gain`: an expression of
##         `gain` and `node`; picked, leaves of a tree that are picked in a step at most; most_open,
##         leaves of a tree at most; smooth as in `split`
<%page args="wg_size, row_chunk, rank, picked, most_open, smooth"/>
<%namespace name="payload" file="payload.cl.mako"/>
<%namespace name="picked_nodes" file="picked_nodes.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
${group.exclusive_scan("group_scan", "u32", wg_size)}

${picked_nodes.rank_of(rank)}

/* What is known of nodes, by id. */
typedef struct {
    GLOBAL node_t* nodes;
    GLOBAL const f32* gains; /* above 0 if the node may split */
    GLOBAL const f32* ranks;
    GLOBAL u32* made;
} known_t;

/* A tree's open leaves. One that may not split has `made` NO_NODE here. */
typedef struct {
    f32 rank[${most_open}];
    u32 id[${most_open}], made[${most_open}], left[${most_open}], best[${wg_size}];
} open_t;

FN void read_leaf(const known_t known, LOCAL open_t* open, const u32 at, const u32 id) {
    open->id[at] = id;
    open->rank[at] = known.ranks[id];
    open->left[at] = known.nodes[id].left;
    open->made[at] = known.gains[id] > 0.0f ? known.made[id] : NO_NODE;
}

/* The better of two open leaves, by rank; of equal ranks, the node that was made first. */
FN u32 better(LOCAL const open_t* open, const u32 one, const u32 other) {
    if (one == NO_NODE || other == NO_NODE) return one == NO_NODE ? other : one;
    const f32 a = open->rank[one], b = open->rank[other];
    return b > a || (b == a && open->made[other] < open->made[one]) ? other : one;
}

/* The open leaf that splits next; NO_NODE if none may. */
FN u32 best_open(LOCAL open_t* open, const u32 n_open) {
    u32 mine = NO_NODE;
    for (u32 i = LOCAL_ID; i < n_open; i += ${wg_size})
        if (open->made[i] != NO_NODE) mine = better(open, mine, i);
    open->best[LOCAL_ID] = mine;
    BARRIER();
    for (u32 n = ${wg_size}; n > 1; n = (n + 1) / 2) {
        const u32 half_size = (n + 1) / 2;
        if (LOCAL_ID + half_size < n)
            open->best[LOCAL_ID] = better(open, open->best[LOCAL_ID], open->best[LOCAL_ID + half_size]);
        BARRIER();
    }
    mine = open->best[0];
    BARRIER();
    return mine;
}

/* Settle the splits that are known to come next; return the leaf that comes after them. */
FN u32 play(const known_t known, const u32 most_leaves, u32* n_open, LOCAL open_t* open) {
    u32 next = NO_NODE, more = 1;
    while (more) { /* the same for the whole group */
        const u32 at = *n_open < most_leaves ? best_open(open, *n_open) : NO_NODE;
        const u32 left = at == NO_NODE ? NO_NODE : open->left[at];
        next = at == NO_NODE ? NO_NODE : open->id[at];
        more = left != NO_NODE;
        BARRIER();
        for (u32 side = LOCAL_ID; more && side < 2; side += ${wg_size}) {
            known.made[left + side] = 2 * *n_open - 1 + side;
            read_leaf(known, open, side ? *n_open : at, left + side);
        }
        if (more) *n_open += 1;
        BARRIER();
    }
    return next;
}

/* When a leaf's turn may come: the least rank of those that have to split before, and its own. */
FN f32 reach_of(const known_t known, u32 id) {
    f32 least = known.ranks[id];
    while (known.made[id] == NO_NODE) {
        id = known.nodes[id].parent;
        least = known.ranks[id] < least ? known.ranks[id] : least;
    }
    return least;
}

/* Finish the new nodes of a tree, and note what their splits gain. */
FN void take_nodes(const u32 first, const u32 count, const u32 tree, const u32 n_each, const u32 max_depth,
                   const f32 gamma, const rule_t unbounded, ${"const f32 path_smooth, GLOBAL const scale_t* scale, " if smooth else ""}const f32 rate, GLOBAL node_t* nodes,
                   const payload_t payload, GLOBAL const candidate_t* chosen, GLOBAL candidate_t* kept,
                   GLOBAL f32* gains, GLOBAL f32* ranks, GLOBAL u32* made) {
    for (u32 id = first + LOCAL_ID; id < first + count; id += ${wg_size}) {
        GLOBAL const node_t* node = &nodes[id];
        if (node->tree != tree) continue;
        const rule_t rule = within(unbounded, payload.bounds[id]);
% if smooth:
        const smoothing_t below = smoothing_below(path_smooth, scale, node, payload.sums[id], payload.weights, rule);
        finish_smoothed(nodes, payload, id, payload.sums[id], rule, below, rate);
% else:
        finish_node(nodes, payload, id, payload.sums[id], rule, rate);
% endif
        GLOBAL const candidate_t* c = chosen + (u64)(id - first) * n_each;
        c += best_of(c, n_each);
        gains[id] = ${"smoothed_leaf_gain(c, node->depth, payload.sums[id], rule, below, max_depth, gamma)" if smooth else "leaf_gain(c, node->depth, payload.sums[id], rule, max_depth, gamma)"};
        ranks[id] = rank_of(node, gains[id]);
        made[id] = node->parent == NO_NODE ? 0 : NO_NODE;
        kept[id] = *c;
    }
}

/* List the leaves that may be picked beside the next one; return how many these are. */
FN u32 list_waiting(const known_t known, const u32 n_nodes, const u32 tree, const u32 next,
                    GLOBAL u32* waiting, GLOBAL f32* reach, LOCAL u32* shared) {
    u32 n_waiting = 0;
    for (u32 base = 0; base < n_nodes; base += ${wg_size}) {
        const u32 id = base + LOCAL_ID;
        const u32 waits = id < n_nodes && known.nodes[id].tree == tree && known.nodes[id].left == NO_NODE
            && known.gains[id] > 0.0f && id != next;
        u32 more;
        const u32 at = n_waiting + group_scan(waits, shared, &more);
        if (waits) {
            waiting[at] = id;
            reach[at] = reach_of(known, id);
        }
        n_waiting += more;
    }
    BARRIER();
    return n_waiting;
}

/* One work-group a tree. progress[tree] has its open leaves and its splits; `growing` how many are
   picked now. There is room for most_made - 1 splits, and always for those that are still to come. */
KERNEL(${wg_size}) pick_leaves(
        const u32 step, const u32 n_each, const u32 most_leaves, const u32 most_made,
        const u32 max_depth, const f32 gamma, const f32 reg_lambda,
        const f32 reg_alpha, const f32 max_delta_step, ${"const f32 path_smooth, " if smooth else ""}GLOBAL const f32* RESTRICT leaf_rate,
        GLOBAL const level_t* RESTRICT levels, GLOBAL node_t* nodes, ${payload.parameters()},
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const candidate_t* RESTRICT chosen,
        GLOBAL candidate_t* RESTRICT kept, GLOBAL f32* gains, GLOBAL f32* ranks, GLOBAL u32* made,
        GLOBAL u32* open_leaves, GLOBAL u32* waiting, GLOBAL f32* reach, GLOBAL u32* progress,
        GLOBAL u32* RESTRICT growing, GLOBAL u32* RESTRICT picked) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    LOCAL_ARRAY(open_t, open, 1);
${payload.read()}\
    const u32 tree = GROUP_ID, first = levels[step].first, count = levels[step].count;
    const rule_t unbounded = make_rule(scale + tree, reg_lambda, reg_alpha, max_delta_step);
    known_t known;
    known.nodes = nodes; known.gains = gains; known.ranks = ranks; known.made = made;
    GLOBAL u32* own = open_leaves + tree * most_leaves;
    u32 n_open = step ? progress[2 * tree] : 1, n_made = step ? progress[2 * tree + 1] : 0;
    take_nodes(first, count, tree, n_each, max_depth, gamma, unbounded, ${"path_smooth, scale + tree, " if smooth else ""}leaf_rate[0], nodes, payload, chosen,
               kept, gains, ranks, made);
    for (u32 i = LOCAL_ID; i < ${picked}; i += ${wg_size}) picked[tree * ${picked} + i] = NO_NODE;
    BARRIER();
    for (u32 i = LOCAL_ID; i < n_open; i += ${wg_size}) read_leaf(known, open, i, step ? own[i] : tree);
    BARRIER();
    const u32 next = play(known, most_leaves, &n_open, open);
    for (u32 i = LOCAL_ID; i < n_open; i += ${wg_size}) own[i] = open->id[i];
    GLOBAL u32* list = waiting + tree * most_made;
    GLOBAL f32* turns = reach + tree * most_made;
    u32 n_picks = 0;
    if (next != NO_NODE) {
        const u32 to_come = most_leaves - n_open, room = most_made - 1 - n_made - to_come + 1;
        n_picks = to_come < room ? to_come : room;
        n_picks = n_picks < ${picked} ? n_picks : ${picked};
    }
    const u32 n_waiting =
        list_waiting(known, next == NO_NODE ? 0 : first + count, tree, next, list, turns, shared);
    for (u32 i = LOCAL_ID; i < n_waiting; i += ${wg_size}) {
        u32 place = 1; /* behind the next one */
        for (u32 k = 0; k < n_waiting && place < n_picks; k++)
            place += turns[k] > turns[i] || (turns[k] == turns[i] && k < i);
        if (place < n_picks) picked[tree * ${picked} + place] = list[i];
    }
    if (LOCAL_ID == 0) {
        n_picks = n_picks < n_waiting + 1 ? n_picks : n_waiting + 1;
        if (next != NO_NODE) picked[tree * ${picked}] = next;
        progress[2 * tree] = n_open;
        progress[2 * tree + 1] = n_made + (next != NO_NODE ? n_picks : 0);
        growing[tree] = next != NO_NODE ? n_picks : 0;
    }
}

/* Split the picked leaves of every tree. Once there are none, the steps to come have no nodes. */
KERNEL(${wg_size}) decide_leaves(
        const u32 step, const u32 n_steps, const u32 n_trees, const f32 reg_lambda,
        const f32 reg_alpha, const f32 max_delta_step, const u32 has_monotone,
        GLOBAL const u32* RESTRICT monotone, GLOBAL level_t* RESTRICT levels, GLOBAL node_t* nodes,
        ${payload.parameters()}, GLOBAL const scale_t* RESTRICT scale, GLOBAL const candidate_t* RESTRICT kept,
        GLOBAL const f32* RESTRICT gains, GLOBAL const u32* RESTRICT picked,
        GLOBAL u32* RESTRICT row_task_begin, GLOBAL u32* RESTRICT child_rows) {
${payload.read()}\
${picked_nodes.split_picks(wg_size, row_chunk, f"n_trees * {picked}", "n_picks", "gains[id]")}\
    for (u32 s = step + 1 + LOCAL_ID; s <= (n_split ? step + 1 : n_steps); s += ${wg_size}) {
        levels[s].first = next_first;
        levels[s].count = 2 * n_split;
        levels[s].row_tasks = levels[s].hist_tasks = 0;
    }
}

/* A node whose split is not settled is a leaf of the tree. */
KERNEL(${wg_size}) settle(
        const u32 n_steps, const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step,${" const f32 path_smooth," if smooth else ""}
        GLOBAL const f32* RESTRICT leaf_rate, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const u32* RESTRICT made, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL node_t* RESTRICT nodes, ${payload.parameters()}) {
${payload.read()}\
    const u32 n_nodes = levels[n_steps].first + levels[n_steps].count;
    for (u32 id = GROUP_ID * ${wg_size} + LOCAL_ID; id < n_nodes; id += N_GROUPS * ${wg_size}) {
        GLOBAL const node_t* node = &nodes[id];
        if (node->left == NO_NODE || made[id] == NO_NODE || made[node->left] != NO_NODE) continue;
        const rule_t rule = node_rule(scale + node->tree, reg_lambda, reg_alpha, max_delta_step, node_bounds[id]);
% if smooth:
        const smoothing_t below =
            smoothing_below(path_smooth, scale + node->tree, node, payload.sums[id], payload.weights, rule);
        finish_smoothed(nodes, payload, id, payload.sums[id], rule, below, leaf_rate[0]);
% else:
        finish_node(nodes, payload, id, payload.sums[id], rule, leaf_rate[0]);
% endif
    }
}
