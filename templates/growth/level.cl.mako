## level: one work-group decides for a level which nodes split, where children's rows and histograms are
##       stored, and how the work is cut into tasks
## uses: portable_math structs gain
## uses if not counted: children
## uses if counted: counted_children
## uses if smooth: smoothing
## uses: growth tasks tables
##
##   begin_tree   makes the roots
##   decide       from the best splits: nodes that split, ids of their children, row tasks
##   place        from the numbers of rows that went left: the children's row ranges, histogram tasks
##
##   Every page of a fit has its own nodes, levels and tasks, which differ in row ranges and tasks alone;
##   these kernels run once for each page. The smaller child is that of all pages together (`child_rows`),
##   or by Hessians, as rows are not counted in a team, nor where pages take turns (`by_hessian`).
##
##   Trees of `n_alike` outputs that split alike share their rows: only those of the first output's nodes have
##   tasks, and the others' nodes get the ranges of the first output's.
##
##   nodes   |0|1 2|3 4 5 6|...     breadth first, without gaps: a level's nodes are neighbours, and so are
##                     a node's children; n trees of a batch begin with n roots and share all levels
##   slots   the larger child takes its parent's slot in the pool of histograms (parent minus sibling); the
##           smaller one gets a new slot, whose histogram is computed from rows
##
## params: wg_size; row_chunk, hist_chunk: rows in a task of each kind; picked, leaves of every tree
##         that the policy lists in `picked`; it has the kernel that decides; limited, `decide` counts leaves;
##         tables, nodes of a level share a split, and `chosen` has only those that gain enough;
##         counted, smooth as in `split`
<%page args="wg_size, row_chunk, hist_chunk, picked, limited, tables, counted, smooth"/>
<%namespace name="limits" file="limited_splits.cl.mako"/>
<%namespace name="payload" file="payload.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
${group.exclusive_scan("group_scan", "u32", wg_size)}
${group.sum("group_sum", "i64", wg_size)}

/* At least one task: the histogram of a root without rows must be written too. */
FN u32 root_tasks(const u32 n_rows) { return n_rows ? tasks_of(n_rows, ${hist_chunk}) : 1; }

/* Work-group t makes the root of tree t, from all rows of a page or from the drawn and listed ones. */
BRIEF
KERNEL(${wg_size}) begin_tree(
        const u32 n_rows, const u32 first_row, const u32 page_rows, const u32 n_groups, const u32 most_leaves,
        const u32 n_lists, const u32 lists_drawn, GLOBAL const u32* RESTRICT drawn, GLOBAL const i64* RESTRICT sums,
        GLOBAL u32* RESTRICT splits_left, GLOBAL level_t* RESTRICT levels, GLOBAL node_t* RESTRICT nodes,
        GLOBAL i64x2* RESTRICT node_sums, GLOBAL bounds_t* RESTRICT node_bounds,
        GLOBAL u32* RESTRICT hist_task_begin) {
    LOCAL_ARRAY(i64, shared, ${wg_size});
    const u32 tree = GROUP_ID, own = lists_drawn ? tree % n_lists : tree, count = lists_drawn ? drawn[own] : page_rows;
    i64 g = 0, h = 0, tasks_before = 0;
    for (u32 i = LOCAL_ID; i < tree; i += ${wg_size})
        tasks_before += root_tasks(lists_drawn ? drawn[i % n_lists] : page_rows);
    for (u32 i = tree * n_groups + LOCAL_ID; i < (tree + 1) * n_groups; i += ${wg_size})
        g += sums[2 * i], h += sums[2 * i + 1];
    g = group_sum(g, shared), h = group_sum(h, shared);
    tasks_before = group_sum(tasks_before, shared);
    if (LOCAL_ID != 0) return;
    GLOBAL node_t* root = &nodes[tree];
    node_sums[tree] = MAKE_I64X2(g, h);
    node_bounds[tree] = no_bounds();
    root->begin = own * n_rows + first_row, root->count = count;
    root->in_order = !lists_drawn;
    root->parent = NO_NODE;
    root->slot = (i32)tree, root->sibling_slot = -1;
    root->tree = tree, root->path = 1, root->depth = 0;
    root->gain = 0.0f;
    splits_left[tree] = most_leaves - 1;
    hist_task_begin[tree] = (u32)tasks_before;
    if (tree + 1 < N_GROUPS) return;
    const u32 tasks = (u32)tasks_before + root_tasks(count);
    levels[0].first = 0, levels[0].count = N_GROUPS;
    levels[0].hist_tasks = hist_task_begin[N_GROUPS] = tasks;
}

% if not picked:
/* Whether a node splits by its best candidate, and what that gains. */
FN int splits(GLOBAL const candidate_t* best, const i64x2 sums, const rule_t rule, const f32 gamma, ${"const smoothing_t below, " if smooth else ""}f32* gain) {
    if (!(best->score_hi > NO_SCORE)) return 0;
% if tables:
    (void)sums; (void)gamma; /* the search has compared the level's gain with it */
    *gain = finite(scale_by(best->score_hi, rule.gain_power));
    return 1;
% else:
    *gain = ${"smoothed_gain(best, sums, rule, below)" if smooth else "gain_of(best, sums, rule)"};
    return *gain > 1e-6f && *gain >= gamma;
% endif
}

/* Set a node's weight and value. */
FN void finish(GLOBAL node_t* nodes, const payload_t payload, const u32 id, const i64x2 sums,
               GLOBAL const scale_t* scale, const rule_t rule, ${"const smoothing_t below, " if smooth else ""}const f32 rate, const f32 min_child_weight) {
% if tables:
    (void)sums;
    finish_table_node(nodes, payload, id, rule, rate, least_child(min_child_weight, scale));
% else:
    (void)min_child_weight; (void)scale;
    ${"finish_smoothed(nodes, payload, id, sums, rule, below, rate)" if smooth else "finish_node(nodes, payload, id, sums, rule, rate)"};
% endif
}

${limits.functions(wg_size, smooth) if limited else ""}
/* `chosen` has `n_each` candidates for every node. */
BRIEF
KERNEL(${wg_size}) decide(
        const u32 depth, const u32 n_each, const u32 n_alike, const f32 gamma, const f32 reg_lambda, const f32 reg_alpha,
        const f32 max_delta_step, const f32 min_child_weight, ${"const f32 path_smooth, " if smooth else ""}const u32 has_monotone,
        GLOBAL const f32* RESTRICT leaf_rate, GLOBAL const u32* RESTRICT monotone,
        GLOBAL level_t* RESTRICT levels, GLOBAL node_t* nodes, ${payload.parameters()},
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const candidate_t* RESTRICT chosen, GLOBAL u32* splits_left,
        GLOBAL f32* wanted, GLOBAL u32* RESTRICT row_task_begin, GLOBAL u32* RESTRICT child_rows) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
${payload.read()}\
    const u32 first = levels[depth].first, count = levels[depth].count;
% if limited:
    list_gains(first, count, n_each, gamma, reg_lambda, reg_alpha, max_delta_step, min_child_weight,${" path_smooth," if smooth else ""}
               leaf_rate[0], nodes, payload, scale, chosen, wanted);
    BARRIER();
    if (LOCAL_ID == 0) limit_splits(first, count, nodes, splits_left, wanted);
    BARRIER();
% else:
    (void)splits_left; (void)wanted;
% endif
    u32 n_split = 0, n_tasks = 0;
    for (u32 base = 0; base < count; base += ${wg_size}) {
        const u32 index = base + LOCAL_ID, id = first + index;
        const u32 near = first + (index < count ? index : 0);
        int split = 0;
        f32 gain = 0.0f;
        GLOBAL const candidate_t* c = chosen;
        if (index < count) {
% if limited:
            gain = wanted[index];
            split = gain > NO_SCORE;
% else:
            /* read at once, before anything is written: each waits as long as all of them */
            GLOBAL const scale_t* own_scale = scale + nodes[id].tree;
            const i64x2 sums = node_sums[id];
            const rule_t rule = node_rule(own_scale, reg_lambda, reg_alpha, max_delta_step, node_bounds[id]);
% if smooth:
            const smoothing_t below = smoothing_below(path_smooth, own_scale, &nodes[id], sums, payload.weights, rule);
% endif
            finish(nodes, payload, id, sums, own_scale, rule, ${"below, " if smooth else ""}leaf_rate[0], min_child_weight);
            c += (u64)index * n_each;
            c += best_of(c, n_each);
            split = splits(c, sums, rule, gamma, ${"below, " if smooth else ""}&gain);
% endif
        }
        const u32 tasks = split && index < count / n_alike ? tasks_of(nodes[near].count, ${row_chunk}) : 0;
        u32 more_split, more_tasks;
        const u32 rank = n_split + group_scan((u32)split, shared, &more_split);
        const u32 my_tasks = n_tasks + group_scan(tasks, shared, &more_tasks);
        if (index < count) row_task_begin[index] = my_tasks;
        if (split) {
% if limited:
            c += (u64)index * n_each;
            c += best_of(c, n_each);
% endif
            split_node(nodes, payload, id, first + count + 2 * rank, c, gain);
            child_rows[2 * rank] = child_rows[2 * rank + 1] = 0; /* `partition` counts */
        }
        n_split += more_split;
        n_tasks += more_tasks;
    }
    for (u32 id = first + LOCAL_ID; id < (has_monotone ? first + count : 0); id += ${wg_size}) {
        if (nodes[id].left == NO_NODE) continue;
        GLOBAL const scale_t* own_scale = scale + nodes[id].tree;
        const rule_t rule = node_rule(own_scale, reg_lambda, reg_alpha, max_delta_step, node_bounds[id]);
        bound_children(payload, nodes[id].left, rule, monotone[nodes[id].feature]);
        ${"bound_idle_children(nodes, payload, id, rule, least_child(min_child_weight, own_scale), monotone[nodes[id].feature]);" if tables else ""}
    }
    if (LOCAL_ID == 0) {
        levels[depth].row_tasks = row_task_begin[count] = n_tasks;
        levels[depth + 1].first = first + count, levels[depth + 1].count = 2 * n_split;
        levels[depth + 1].row_tasks = levels[depth + 1].hist_tasks = 0;
    }
}
% endif

BRIEF
KERNEL(${wg_size}) place(
        const u32 depth, const u32 n_trees, const u32 n_alike, const u32 by_hessian, const u32 fixed_slot,
        GLOBAL level_t* RESTRICT levels, GLOBAL node_t* nodes, GLOBAL const i64x2* RESTRICT node_sums,
        GLOBAL u32* child_rows, ${"GLOBAL const u32* RESTRICT picked, " if picked else ""}GLOBAL u32* RESTRICT hist_task_begin) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u32 next_first = levels[depth + 1].first;
% if picked:
    const u32 count = n_trees * ${picked}, n_own = count / n_alike;
% else:
    const u32 first = levels[depth].first, count = levels[depth].count, n_own = count / n_alike;
% endif
    /* roots have the first slots; every split of earlier levels took one more, or might have */
    const u32 next_slot = fixed_slot ? fixed_slot : (next_first - n_trees) / 2 + n_trees;
    u32 n_hist = 0, more;
    for (u32 base = 0; base < count; base += ${wg_size}) {
        const u32 index = base + LOCAL_ID;
% if picked:
        const u32 id = index < count ? picked[index] : NO_NODE, of_first = picked[index % n_own];
        const int split = id != NO_NODE;
% else:
        const u32 id = first + index, of_first = first + index % n_own;
        const int split = index < count && nodes[id].left != NO_NODE;
% endif
        u32 tasks = 0, small = 0, left = 0;
        if (split) {
            GLOBAL const node_t* node = &nodes[id];
            left = node->left;
            GLOBAL const node_t* listed = &nodes[of_first]; /* of the first output */
            const u32 begin = listed->begin, n_left = nodes[listed->left].count;
            if (index >= n_own) {
                nodes[left].count = n_left;
                nodes[left + 1].count = nodes[listed->left + 1].count;
                child_rows[left - next_first] = child_rows[listed->left - next_first];
                child_rows[left + 1 - next_first] = child_rows[listed->left + 1 - next_first];
            }
            nodes[left].begin = begin;
            nodes[left + 1].begin = begin + n_left;
            small = by_hessian ? node_sums[left + 1].y < node_sums[left].y
                : child_rows[left + 1 - next_first] < child_rows[left - next_first];
            tasks = tasks_of(nodes[left + small].count, ${hist_chunk});
            const u32 rank = (left - next_first) / 2;
            nodes[left + small].slot = (i32)(next_slot + rank), nodes[left + small].sibling_slot = -1;
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
    if (LOCAL_ID == 0)
        levels[depth + 1].hist_tasks = hist_task_begin[levels[depth + 1].count] = n_hist;
}
