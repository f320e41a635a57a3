## grow: what one work-group decides for a whole level: which nodes split, where rows and
##       histograms of the children lie, and how the work is cut into tasks
## uses: portable_math structs gain tasks
##
##   begin_tree   the roots
##   decide       best splits -> nodes split or become leaves; ids of the children; row tasks
##   place        how many rows went left -> where the children's rows begin; histogram tasks
##
##   nodes   |0|1 2|3 4 5 6|...     breadth first, without gaps: a level's nodes are neighbours,
##                                  a node's children too; n trees that are grown at a time begin
##                                  with n roots and share levels from then on
##   slots   the larger child takes the parent's place in the histogram pool (parent - sibling),
##           the smaller one a new place and is built from rows
##
## params: wg_size; row_chunk, hist_chunk: rows in a task of each kind
<%page args="wg_size, row_chunk, hist_chunk"/>
<%namespace name="group" file="group.cl.mako"/>
${group.exclusive_scan("group_scan", "u32", wg_size)}
${group.sum("group_sum", "i64", wg_size)}

/* Work-group t makes the root of tree t. */
KERNEL(${wg_size}) begin_tree(
        const u32 n_rows, const u32 n_groups, GLOBAL const i64* RESTRICT sums,
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

/* `chosen` has `n_each` candidates of every node. */
KERNEL(${wg_size}) decide(
        const u32 depth, const u32 n_each, const f32 learning_rate, const f32 gamma,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step,
        const u32 has_monotone, GLOBAL const u32* RESTRICT monotone,
        GLOBAL level_t* RESTRICT levels, GLOBAL node_t* nodes,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const candidate_t* RESTRICT chosen,
        GLOBAL u32* RESTRICT row_task_begin) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u32 first = levels[depth].first, count = levels[depth].count;
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
            if (c->score_hi >= 0.0f) {
                const df own = score(node->sum_g, node->sum_h, rule);
                const df loss = df_add(df_make(c->score_hi, c->score_lo), df_neg(own));
                gain = finite(scale_by(loss.hi, rule.gain_power));
                split = gain > 1e-6f && gain >= gamma;
            }
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
            const u32 left = first + count + 2 * rank;
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
                nodes[left + side].parent = first + index;
                nodes[left + side].depth = depth + 1;
                nodes[left + side].tree = node->tree;
                nodes[left + side].path = 2 * node->path + side;
                nodes[left + side].lower = node->lower;
                nodes[left + side].upper = node->upper;
                nodes[left + side].count = 0; /* `partition` counts */
            }
            const u32 constraint = has_monotone ? monotone[c->feature] : 0;
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

KERNEL(${wg_size}) place(
        const u32 depth, const u32 n_trees, GLOBAL level_t* RESTRICT levels, GLOBAL node_t* nodes,
        GLOBAL u32* RESTRICT hist_task_begin) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u32 first = levels[depth].first, count = levels[depth].count;
    /* roots have the first slots, and every split of the levels before took one more */
    const u32 next_slot = (first + count - n_trees) / 2 + n_trees;
    u32 n_hist = 0, more;
    for (u32 base = 0; base < count; base += ${wg_size}) {
        const u32 index = base + LOCAL_ID;
        const int split = index < count && nodes[first + index].left != NO_NODE;
        u32 tasks = 0, small = 0, left = 0;
        if (split) {
            GLOBAL const node_t* node = &nodes[first + index];
            left = node->left;
            const u32 n_left = nodes[left].count, n_right = nodes[left + 1].count;
            nodes[left].begin = node->begin;
            nodes[left + 1].begin = node->begin + n_left;
            small = n_right < n_left;
            tasks = tasks_of(small ? n_right : n_left, ${hist_chunk});
            const u32 rank = (left - first - count) / 2;
            nodes[left + small].slot = (i32)(next_slot + rank);
            nodes[left + small].sibling_slot = -1;
            nodes[left + 1 - small].slot = node->slot;
            nodes[left + 1 - small].sibling_slot = (i32)(next_slot + rank);
        }
        const u32 task = n_hist + group_scan(tasks, shared, &more);
        if (split) {
            const u32 child = left - first - count;
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
