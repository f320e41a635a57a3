## grow: what one work-group decides for a whole level: which nodes split, where rows and
##       histograms of the children lie, and how the work is cut into tasks
## uses: portable_math structs gain tasks
##
##   begin_tree   the roots
##   decide       best splits -> nodes split or become leaves; ids of the children; row tasks
##   pick         leaf-wise growth: the leaf of every tree whose split gains most
##   decide_picked  these split
##   place        how many rows went left -> where the children's rows begin; histogram tasks
##
##   nodes   |0|1 2|3 4 5 6|...     breadth first, without gaps: a level's nodes are neighbours,
##                                  a node's children too; n trees that are grown at a time begin
##                                  with n roots and share levels from then on
##   slots   the larger child takes the parent's place in the histogram pool (parent - sibling),
##           the smaller one a new place and is built from rows
##
## params: wg_size; row_chunk, hist_chunk: rows in a task of each kind; picked, leaf-wise growth;
##         limited, trees have at most so many leaves
<%page args="wg_size, row_chunk, hist_chunk, picked, limited"/>
<%namespace name="group" file="group.cl.mako"/>
${group.exclusive_scan("group_scan", "u32", wg_size)}
${group.sum("group_sum", "i64", wg_size)}

/* Work-group t makes the root of tree t. */
KERNEL(${wg_size}) begin_tree(
        const u32 n_rows, const u32 n_groups, const u32 most_leaves,
        GLOBAL const i64* RESTRICT sums, GLOBAL u32* RESTRICT splits_left,
        GLOBAL level_t* RESTRICT levels, GLOBAL node_t* RESTRICT nodes,
        GLOBAL u32* RESTRICT hist_task_begin) {
    LOCAL_ARRAY(i64, shared, ${wg_size});
    const u32 tree = GROUP_ID, tasks = tasks_of(n_rows, ${hist_chunk});
    i64 g = 0, h = 0;
    for (u32 i = tree * n_groups + LOCAL_ID; i < (tree + 1) * n_groups; i += ${wg_size}) {
        g += sums[2 * i];
        h += sums[2 * i + 1];
    }
    g = group_sum(g, shared);
    h = group_sum(h, shared);
    if (LOCAL_ID != 0) return;
    GLOBAL node_t* root = &nodes[tree];
    root->sum_g = g;
    root->sum_h = h;
    root->begin = tree * n_rows;
    root->count = n_rows;
    root->parent = NO_NODE;
    root->depth = 0;
    root->slot = (i32)tree;
    root->sibling_slot = -1;
    root->tree = tree;
    root->path = 1;
    splits_left[tree] = most_leaves - 1;
    root->lower = -UNBOUNDED;
    root->upper = UNBOUNDED;
    hist_task_begin[tree] = tree * tasks;
    if (tree + 1 < N_GROUPS) return;
    levels[0].first = 0;
    levels[0].count = N_GROUPS;
    levels[0].hist_tasks = N_GROUPS * tasks;
    hist_task_begin[N_GROUPS] = N_GROUPS * tasks;
}

/* The best of a node's candidates; an invalid one where all are. */
FN u32 best_of(GLOBAL const candidate_t* mine, const u32 n) {
    u32 best = 0;
    df top = df_make(mine[0].score_hi, mine[0].score_lo);
    for (u32 i = 1; i < n; i++) {
        const df s = df_make(mine[i].score_hi, mine[i].score_lo);
        if (df_less(top, s)) {
            top = s;
            best = i;
        }
    }
    return best;
}

FN f32 gain_of(GLOBAL const candidate_t* c, GLOBAL const node_t* node, const rule_t rule) {
    const df own = score(node->sum_g, node->sum_h, rule);
    const df loss = df_add(df_make(c->score_hi, c->score_lo), df_neg(own));
    return finite(scale_by(loss.hi, rule.gain_power));
}

/* Split a node; its children are `left` and the next one. */
FN void split_node(
        GLOBAL node_t* nodes, const u32 id, const u32 left, GLOBAL const candidate_t* c,
        const f32 gain, const rule_t rule, const u32 constraint) {
    GLOBAL node_t* node = &nodes[id];
    node->value = 0.0f;
    node->gain = gain;
    node->left = left;
    node->feature = c->feature;
    node->bin = c->bin_direction >> 1;
    node->default_left = c->bin_direction & 1;
    nodes[left].sum_g = c->left_g;
    nodes[left].sum_h = c->left_h;
    nodes[left + 1].sum_g = node->sum_g - c->left_g;
    nodes[left + 1].sum_h = node->sum_h - c->left_h;
    for (u32 side = 0; side < 2; side++) {
        nodes[left + side].parent = id;
        nodes[left + side].depth = node->depth + 1;
        nodes[left + side].tree = node->tree;
        nodes[left + side].path = 2 * node->path + side;
        nodes[left + side].lower = node->lower;
        nodes[left + side].upper = node->upper;
        nodes[left + side].count = 0; /* `partition` counts */
    }
    if (constraint) { /* what is below keeps to its side of the middle */
        const f32 one = weight_in_units(nodes[left].sum_g, nodes[left].sum_h, rule);
        const f32 other = weight_in_units(nodes[left + 1].sum_g, nodes[left + 1].sum_h, rule);
        const f32 half_one = 0.5f * one, half_other = 0.5f * other;
        const f32 middle = half_one + half_other;
        const u32 low = constraint == 1 ? left : left + 1;
        nodes[low].upper = middle;
        nodes[2 * left + 1 - low].lower = middle;
    }
}

/* `chosen` has `n_each` candidates of every node. */
KERNEL(${wg_size}) decide(
        const u32 depth, const u32 n_each, const f32 learning_rate, const f32 gamma,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step,
        const u32 has_monotone, GLOBAL const u32* RESTRICT monotone,
        GLOBAL level_t* RESTRICT levels, GLOBAL node_t* nodes,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const candidate_t* RESTRICT chosen,
        GLOBAL u32* splits_left, GLOBAL f32* wanted, GLOBAL u32* RESTRICT row_task_begin) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u32 first = levels[depth].first, count = levels[depth].count;
% if limited:
    for (u32 index = LOCAL_ID; index < count; index += ${wg_size}) {
        GLOBAL const node_t* node = &nodes[first + index];
        const rule_t unbounded = make_rule(scale + node->tree, reg_lambda, reg_alpha, max_delta_step);
        const rule_t rule = within(unbounded, node->lower, node->upper);
        GLOBAL const candidate_t* c = chosen + (u64)index * n_each;
        c += best_of(c, n_each);
        const f32 gain = c->score_hi >= 0.0f ? gain_of(c, node, rule) : -1.0f;
        wanted[index] = gain > 1e-6f && gain >= gamma ? gain : -1.0f;
    }
    BARRIER();
    if (LOCAL_ID == 0) { /* the first ones split, while a tree may have more leaves */
        for (u32 index = 0; index < count; index++) {
            const u32 tree = nodes[first + index].tree;
            if (wanted[index] < 0.0f) continue;
            if (splits_left[tree]) splits_left[tree]--; else wanted[index] = -1.0f;
        }
    }
    BARRIER();
% else:
    (void)splits_left; (void)wanted;
% endif
    u32 n_split = 0, n_tasks = 0;
    for (u32 base = 0; base < count; base += ${wg_size}) {
        const u32 index = base + LOCAL_ID;
        GLOBAL node_t* node = &nodes[first + (index < count ? index : 0)];
        GLOBAL const scale_t* own_scale = scale + (index < count ? node->tree : 0);
        const rule_t unbounded = make_rule(own_scale, reg_lambda, reg_alpha, max_delta_step);
        const rule_t rule = index < count ? within(unbounded, node->lower, node->upper) : unbounded;
        int split = 0;
        f32 gain = 0.0f;
        GLOBAL const candidate_t* c = chosen;
        if (index < count) {
            c += (u64)index * n_each;
            c += best_of(c, n_each);
% if limited:
            gain = wanted[index];
            split = gain >= 0.0f;
% else:
            if (c->score_hi >= 0.0f) {
                gain = gain_of(c, node, rule);
                split = gain > 1e-6f && gain >= gamma;
            }
% endif
        }
        const u32 tasks = split ? tasks_of(node->count, ${row_chunk}) : 0;
        u32 more_split, more_tasks;
        const u32 rank = n_split + group_scan((u32)split, shared, &more_split);
        const u32 my_tasks = n_tasks + group_scan(tasks, shared, &more_tasks);
        if (index < count) {
            row_task_begin[index] = my_tasks;
            finish_node(node, own_scale, rule, learning_rate);
        }
        if (split) {
            const u32 constraint = has_monotone ? monotone[c->feature] : 0;
            split_node(nodes, first + index, first + count + 2 * rank, c, gain, rule, constraint);
        }
        n_split += more_split;
        n_tasks += more_tasks;
    }
    if (LOCAL_ID == 0) {
        row_task_begin[count] = n_tasks;
        levels[depth].row_tasks = n_tasks;
        levels[depth + 1].first = first + count;
        levels[depth + 1].count = 2 * n_split;
        levels[depth + 1].row_tasks = 0;
        levels[depth + 1].hist_tasks = 0;
    }
}

% if picked:
/* One work-group a tree. `open` has its leaves, with what their splits gain. Those of the level
   come to it; the one that gains most is picked, the first of equal ones. */
KERNEL(${wg_size}) pick(
        const u32 step, const u32 n_each, const u32 most_leaves,
        const u32 max_depth, const f32 learning_rate, const f32 gamma, const f32 reg_lambda,
        const f32 reg_alpha, const f32 max_delta_step,
        GLOBAL const level_t* RESTRICT levels, GLOBAL node_t* nodes,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const candidate_t* RESTRICT chosen,
        GLOBAL candidate_t* RESTRICT kept, GLOBAL u32* open, GLOBAL f32* open_gain,
        GLOBAL u32* open_at, GLOBAL u32* picked) {
    LOCAL_ARRAY(f32, gains, ${wg_size});
    LOCAL_ARRAY(u32, at, ${wg_size});
    const u32 tree = GROUP_ID;
    const u32 first = levels[step].first, count = levels[step].count;
    GLOBAL u32* leaves = open + tree * most_leaves;
    GLOBAL f32* leaf_gains = open_gain + tree * most_leaves;
    const rule_t unbounded = make_rule(scale + tree, reg_lambda, reg_alpha, max_delta_step);
    const u32 before = open_at[tree]; /* where the last one was open */
    if (LOCAL_ID == 0) {
        u32 side = 0;
        for (u32 id = first; id < first + count; id++) {
            GLOBAL node_t* node = &nodes[id];
            if (node->tree != tree) continue;
            const rule_t rule = within(unbounded, node->lower, node->upper);
            finish_node(node, scale + tree, rule, learning_rate);
            GLOBAL const candidate_t* c = chosen + (u64)(id - first) * n_each;
            c += best_of(c, n_each);
            f32 gain = -1.0f;
            if (c->score_hi >= 0.0f && node->depth < max_depth) {
                gain = gain_of(c, node, rule);
                if (!(gain > 1e-6f && gain >= gamma)) gain = -1.0f;
            }
            /* the left child takes its parent's place */
            const u32 place = step == 0 ? 0 : (side == 0 ? before : step);
            leaves[place] = id;
            leaf_gains[place] = gain;
            kept[id] = *c;
            side++;
        }
        if (step > 0 && side == 0) { /* this tree is complete */
            leaves[step] = NO_NODE;
            leaf_gains[step] = -1.0f;
        }
    }
    BARRIER();
    f32 most = 0.0f;
    u32 mine = NO_NODE;
    for (u32 i = LOCAL_ID; i <= step; i += ${wg_size}) {
        if (leaf_gains[i] > most || (mine != NO_NODE && leaf_gains[i] == most && leaves[i] < leaves[mine])) {
            most = leaf_gains[i];
            mine = i;
        }
    }
    gains[LOCAL_ID] = most;
    at[LOCAL_ID] = mine;
    BARRIER();
    if (LOCAL_ID == 0) {
        for (u32 i = 1; i < ${wg_size}; i++) {
            if (at[i] == NO_NODE) continue;
            const int ahead_of = mine == NO_NODE || gains[i] > most
                || (gains[i] == most && leaves[at[i]] < leaves[mine]);
            if (!ahead_of) continue;
            most = gains[i];
            mine = at[i];
        }
        open_at[tree] = mine;
        picked[tree] = mine == NO_NODE ? NO_NODE : leaves[mine];
    }
}

/* Trees whose leaf is picked split it. */
KERNEL(${wg_size}) decide_picked(
        const u32 step, const u32 n_trees, const u32 most_leaves, const f32 reg_lambda,
        const f32 reg_alpha, const f32 max_delta_step, const u32 has_monotone,
        GLOBAL const u32* RESTRICT monotone, GLOBAL level_t* RESTRICT levels, GLOBAL node_t* nodes,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const candidate_t* RESTRICT kept,
        GLOBAL const f32* RESTRICT open_gain, GLOBAL const u32* RESTRICT open_at,
        GLOBAL const u32* RESTRICT picked,
        GLOBAL u32* RESTRICT row_task_begin) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u32 next_first = levels[step].first + levels[step].count;
    u32 n_split = 0, n_tasks = 0;
    for (u32 base = 0; base < n_trees; base += ${wg_size}) {
        const u32 tree = base + LOCAL_ID;
        const u32 id = tree < n_trees ? picked[tree] : NO_NODE;
        const int split = id != NO_NODE;
        const u32 tasks = split ? tasks_of(nodes[id].count, ${row_chunk}) : 0;
        u32 more_split, more_tasks;
        const u32 rank = n_split + group_scan((u32)split, shared, &more_split);
        const u32 my_tasks = n_tasks + group_scan(tasks, shared, &more_tasks);
        if (tree < n_trees) row_task_begin[tree] = my_tasks;
        if (split) {
            GLOBAL const node_t* node = &nodes[id];
            const rule_t unbounded = make_rule(scale + tree, reg_lambda, reg_alpha, max_delta_step);
            const rule_t rule = within(unbounded, node->lower, node->upper);
            const u32 constraint = has_monotone ? monotone[kept[id].feature] : 0;
            const f32 gain = open_gain[tree * most_leaves + open_at[tree]];
            split_node(nodes, id, next_first + 2 * rank, &kept[id], gain, rule, constraint);
        }
        n_split += more_split;
        n_tasks += more_tasks;
    }
    if (LOCAL_ID == 0) {
        row_task_begin[n_trees] = n_tasks;
        levels[step].row_tasks = n_tasks;
        levels[step + 1].first = next_first;
        levels[step + 1].count = 2 * n_split;
        levels[step + 1].row_tasks = 0;
        levels[step + 1].hist_tasks = 0;
    }
}
% endif

KERNEL(${wg_size}) place(
        const u32 depth, const u32 n_trees, GLOBAL level_t* RESTRICT levels, GLOBAL node_t* nodes,
        GLOBAL const u32* RESTRICT picked, GLOBAL u32* RESTRICT hist_task_begin) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u32 next_first = levels[depth + 1].first;
% if picked:
    const u32 count = n_trees;
% else:
    const u32 first = levels[depth].first, count = levels[depth].count;
    (void)picked;
% endif
    /* roots have the first slots, and every split of the levels before took one more */
    const u32 next_slot = (next_first - n_trees) / 2 + n_trees;
    u32 n_hist = 0, more;
    for (u32 base = 0; base < count; base += ${wg_size}) {
        const u32 index = base + LOCAL_ID;
% if picked:
        const u32 id = index < count ? picked[index] : NO_NODE;
        const int split = id != NO_NODE;
% else:
        const u32 id = first + index;
        const int split = index < count && nodes[id].left != NO_NODE;
% endif
        u32 tasks = 0, small = 0, left = 0;
        if (split) {
            GLOBAL const node_t* node = &nodes[id];
            left = node->left;
            const u32 n_left = nodes[left].count, n_right = nodes[left + 1].count;
            nodes[left].begin = node->begin;
            nodes[left + 1].begin = node->begin + n_left;
            small = n_right < n_left;
            tasks = tasks_of(small ? n_right : n_left, ${hist_chunk});
            const u32 rank = (left - next_first) / 2;
            nodes[left + small].slot = (i32)(next_slot + rank);
            nodes[left + small].sibling_slot = -1;
            nodes[left + 1 - small].slot = node->slot;
            nodes[left + 1 - small].sibling_slot = (i32)(next_slot + rank);
        }
        const u32 task = n_hist + group_scan(tasks, shared, &more);
        if (split) {
            const u32 child = left - next_first;
            hist_task_begin[child] = task;
            hist_task_begin[child + 1] = small ? task : task + tasks;
        }
        n_hist += more;
    }
    if (LOCAL_ID == 0) {
        hist_task_begin[levels[depth + 1].count] = n_hist;
        levels[depth + 1].hist_tasks = n_hist;
    }
}
