## leaves_of_trees: the open leaves of trees, of which one splits at a time; `whole_best_first` imports these defs
##
##   open    |l0 l1 l2 ..|      of every tree: nodes that are leaves so far,
##   gain    |g0 g1 g2 ..|      and what the best split of each one gains; the most decides

<%def name="leaves()">
/* The trees that grow, and what is known of their open leaves. */
typedef struct {
    u32 n_trees, n_levels, most_leaves, max_depth, n_units, n_features;
    f32 gamma, reg_lambda, max_delta_step, min_child_weight, rate;
    GLOBAL level_t* levels;
    GLOBAL node_t* nodes;
    GLOBAL const scale_t* scale;
    GLOBAL candidate_t* candidates;
    GLOBAL candidate_t* kept;
    GLOBAL u32* open;
    GLOBAL f32* open_gain;
    GLOBAL u32* open_at;
    GLOBAL u32* picked;
    GLOBAL u32* counters;
    GLOBAL u64* opened;
    payload_t payload;
} trees_t;

/* Whether a node's split is worth a search. */
FN u32 may_be_split(const trees_t* trees, GLOBAL const node_t* node, const i64x2 sums, const least_t least) {
    return node->depth < trees->max_depth && sums.y >= 2 * least.h;
}

/* Take a new node to the open leaves of its tree; its candidates are `n_each` from `found` on. */
FN void take_leaf(const trees_t* trees, const u32 tree, const u32 id, const u32 place, GLOBAL const candidate_t* found,
                  const u32 n_each) {
    const i64x2 sums = trees->payload.sums[id];
    const rule_t rule = make_rule(trees->scale + tree, trees->reg_lambda, 0.0f, trees->max_delta_step);
    finish_node(trees->nodes, trees->payload, id, sums, rule, trees->rate);
    found += best_of(found, n_each);
    trees->open[tree * trees->most_leaves + place] = id;
    trees->open_gain[tree * trees->most_leaves + place] =
        leaf_gain(found, trees->nodes[id].depth, sums, rule, trees->max_depth, trees->gamma);
    trees->kept[id] = *found;
}

/* The place of the open leaf of a tree that gains most, of equal ones the node that was made first; NO_NODE if none
   splits. */
FN u32 best_leaf(const trees_t* trees, const u32 tree, const u32 n_open) {
    GLOBAL const u32* leaves = trees->open + tree * trees->most_leaves;
    GLOBAL const f32* gains = trees->open_gain + tree * trees->most_leaves;
    f32 most = 0.0f; /* others stay leaves */
    u32 best = NO_NODE;
    for (u32 i = 0; i < n_open; i++) {
        if (!(gains[i] > most || (gains[i] == most && best != NO_NODE && leaves[i] < leaves[best]))) continue;
        most = gains[i];
        best = i;
    }
    return best;
}

/* Take the nodes of a step, and split a leaf of every tree that has one. Returns the number of splits. */
FN u32 split_leaves(const trees_t* trees, const u32 step, const u32 n_each) {
    const u32 first = trees->levels[step].first, next_first = first + trees->levels[step].count;
    u32 n_split = 0;
    for (u32 tree = 0; tree < trees->n_trees; tree++) {
        const u32 before = step ? trees->open_at[tree] : 0; /* place of the leaf that split last */
        trees->picked[tree] = NO_NODE;
        if (before == NO_NODE) continue; /* this tree is complete */
        const u32 id = step ? trees->nodes[trees->open[tree * trees->most_leaves + before]].left : tree;
        GLOBAL const candidate_t* found = trees->candidates + (u64)(id - first) * n_each;
        take_leaf(trees, tree, id, before, found, n_each);
        if (step) take_leaf(trees, tree, id + 1, step, found + n_each, n_each);
        const u32 at = trees->open_at[tree] = best_leaf(trees, tree, step + 1);
        if (at == NO_NODE) continue;
        const u32 best = trees->picked[tree] = trees->open[tree * trees->most_leaves + at];
        split_node(trees->nodes, trees->payload, best, next_first + 2 * n_split++, &trees->kept[best],
                   trees->open_gain[tree * trees->most_leaves + at]);
    }
    for (u32 next = step + 1; next <= (n_split ? step + 1 : trees->n_levels); next++) {
        trees->levels[next].first = next_first;
        trees->levels[next].count = 2 * n_split;
        trees->levels[next].row_tasks = trees->levels[next].hist_tasks = 0;
    }
    return n_split;
}

/* Give the children of a step's splits their rows and slots, once these rows have moved. */
FN void place_children(const trees_t* trees, const u32 step) {
    GLOBAL node_t* nodes = trees->nodes;
    const u32 next_first = trees->levels[step + 1].first, n_split = trees->levels[step + 1].count / 2;
    const u32 next_slot = (next_first - trees->n_trees) / 2 + trees->n_trees;
    for (u32 index = 0; index < n_split; index++)
        place_pair(nodes, next_first + 2 * index, next_slot + index);
}
</%def>
