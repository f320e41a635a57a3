## whole_best_first: one launch grows the trees of a batch leaf by leaf, where a launch costs more than a split's work
## uses: portable_math structs gain
## uses if not counted: children
## uses if counted: counted_children
## uses: growth decision
##
##   begin   | search | next | search | next | move | search | next | ..     a step: the leaf of every tree that splits
##   group 0 |  t0 t2 |  one |  t1    |      |  m0  |  t0 ..                 groups take tasks from a counter; who
##   group 1 |  t1    |      |  t0 t2 |  one |  m1  |  t1 ..                 finishes the last one decides what is next
##
##   search  a pair of siblings and some features, as `whole_trees` does; few rows are searched by their own codes
##   next    the new nodes come to the open leaves, and of every tree that one splits that gains most, as `best_first`
##           does
##   move    rows of these leaves to their children: few by the group that decides, many in chunks by all groups
##
##   codes of few rows   |17|3|17|90|..   a feature's codes that the rows have are marked, and only these are scored
##   marks               |..1....1..1|
##
##   A group waits only for tasks that other running groups have taken, as in `whole_trees`. One that starts late
##   begins with the phase that is open.
##
## params: wg_size (1); clipped, code, most_codes, counter_words, counted as in `whole_trees`; few_rows
##         of a node whose children are searched by their own codes; chunk, rows of a task that moves some;
##         prefetch, rows ahead that are asked for (0: not at all); most_features of a task, a power of 2 from 4 on
<%page args="wg_size, clipped, code, most_codes, counter_words, counted, few_rows, chunk, prefetch, most_features"/>
<%namespace name="payload" file="payload.cl.mako"/>
<%namespace name="candidates" file="candidates.cl.mako"/>
<%namespace name="runs" file="runs_of_borders.cl.mako"/>
<%namespace name="tasks" file="whole_tasks.cl.mako"/>
<%namespace name="pairs" file="pairs_of_nodes.cl.mako"/>
<%namespace name="rows_of_nodes" file="rows_of_nodes.cl.mako"/>
${candidates.consider(False)}
${runs.functions(most_codes - 1, False, False, clipped, sparse=False, doubles=False, kept=False)}
${pairs.searches()}
${tasks.phases(counter_words)}
${tasks.roots()}
${tasks.places()}
#define BEHIND ${most_features * most_codes} /* the cell behind those of a task */
${rows_of_nodes.histograms(code, prefetch)}
${rows_of_nodes.few_rows(code, few_rows, most_codes)}
${rows_of_nodes.chunks(code, chunk)}

/* What a phase's counters are followed by: its tasks, what these are, and the step. */
#define N_TASKS 1
#define KIND 2
#define STEP 3
#define EACH 4 /* features of a task */
#define SEARCH 0
#define MOVE 1
#define END 2

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

FN u32 words_before(const u32 phase) { return (phase + 1) * WORDS; }

FN void open_phase(const trees_t* trees, const u32 phase, const u32 kind, const u32 step, const u32 n_tasks,
                   const u32 each) {
    GLOBAL u32* own = trees->counters + words_before(phase);
    own[N_TASKS] = n_tasks;
    own[KIND] = kind;
    own[STEP] = step;
    own[EACH] = each;
    open_next(trees->opened, phase);
}

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

/* Open the search of a step's new nodes. */
FN void open_search(const trees_t* trees, const u32 phase, const u32 step) {
    const u32 n_pairs = step ? trees->levels[step].count / 2 : trees->levels[0].count;
    const u32 share = (u32)((u64)trees->n_features * n_pairs / (2 * trees->n_units));
    u32 each = 4; /* as many as `build` adds in one pass: codes of the next task's features would leave the cells */
    while (each < ${most_features} && each < share) each *= 2;
    open_phase(trees, phase, SEARCH, step, n_pairs * ((trees->n_features + each - 1) / each), each);
}

/* What follows the move of a step's rows. */
FN void open_after_move(const trees_t* trees, const u32 phase, const u32 step) {
    place_children(trees, step);
    if (step + 1 < trees->n_levels) open_search(trees, phase, step + 1);
    else open_phase(trees, phase, END, step, 0, 0);
}

/* Split leaves once a step's new nodes are searched; then open what follows. */
FN void open_after_search(const trees_t* trees, const u32 phase, const u32 step, const u32 n_each, const u32 n_rows,
                          GLOBAL const ${code}* columns, GLOBAL const u32* feature_bins,
                          GLOBAL u32* even_rows, GLOBAL u32* odd_rows) {
    const u32 n_split = split_leaves(trees, step, n_each);
    const u32 n_chunks = n_split ? chunks_of(trees->nodes, trees->picked, trees->n_trees) : 0;
    if (n_split == 0) open_phase(trees, phase, END, step, 0, 0);
    else if (n_chunks > n_split) open_phase(trees, phase, MOVE, step, n_chunks, 0);
    else { /* few rows: no other group has to wait for them twice */
        for (u32 i = 0; i < n_chunks; i++)
            move_chunk(trees->nodes, trees->picked, i, n_rows, columns, feature_bins, even_rows, odd_rows);
        open_after_move(trees, phase, step);
    }
}

KERNEL(${wg_size}) grow_leaves(
        const u32 n_levels, const u32 n_trees, const u32 n_rows, const u32 n_sums, const u32 n_features,
        const u32 n_codes, const u32 most_leaves, const u32 max_depth, const u32 n_units, const u32 row_codes,
        const f32 gamma, const f32 reg_lambda, const f32 max_delta_step,
        const f32 min_child_weight, GLOBAL const i64* RESTRICT sums, GLOBAL const f32* RESTRICT leaf_rate,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const ${code}* RESTRICT codes,
        GLOBAL const ${code}* RESTRICT columns,
        GLOBAL const i32x2* RESTRICT quanta, GLOBAL const i32x2* RESTRICT high_words,
        GLOBAL level_t* levels, GLOBAL node_t* nodes, ${payload.parameters()},
        GLOBAL u32* even_rows, GLOBAL u32* odd_rows, GLOBAL i64x2* pool, GLOBAL i64x2* scratch,
        GLOBAL candidate_t* candidates, GLOBAL candidate_t* kept, GLOBAL u32* open, GLOBAL f32* open_gain,
        GLOBAL u32* open_at, GLOBAL u32* picked, GLOBAL u32* counters, GLOBAL u64* opened) {
${payload.read()}\
    data_t data;
    data.n_rows = n_rows;
    data.row_codes = row_codes;
    data.n_codes = n_codes;
    data.feature_offset = feature_offset;
    data.feature_bins = feature_bins;
    data.codes = codes;
    data.quanta = quanta;
    data.high_words = high_words;
    data.scratch = scratch + (u64)GROUP_ID * (BEHIND + 1);
    trees_t trees;
    trees.n_trees = n_trees, trees.n_levels = n_levels, trees.most_leaves = most_leaves, trees.max_depth = max_depth;
    trees.n_units = n_units, trees.n_features = n_features;
    trees.gamma = gamma, trees.reg_lambda = reg_lambda, trees.max_delta_step = max_delta_step;
    trees.min_child_weight = min_child_weight, trees.rate = leaf_rate[0];
    trees.levels = levels, trees.nodes = nodes, trees.scale = scale, trees.candidates = candidates, trees.kept = kept;
    trees.open = open, trees.open_gain = open_gain, trees.open_at = open_at, trees.picked = picked;
    trees.counters = counters, trees.opened = opened, trees.payload = payload;
    if (take(counters) == 0) {
        begin_trees(n_trees, n_rows, n_sums, sums, levels, nodes, payload);
        open_search(&trees, 0, 0);
    }
    u32 phase = 0;
    for (;;) {
        wait_for(opened, phase);
        phase = (u32)READ_SHARED_U64(opened) - 1;
        FENCE();
        GLOBAL u32* own = trees.counters + words_before(phase);
        const u32 n_tasks = own[N_TASKS], kind = own[KIND], step = own[STEP], each = own[EACH];
        if (kind == END) break;
        const u32 first = levels[step].first;
        const u32 n_blocks = kind == SEARCH ? (n_features + each - 1) / each : 1;
        for (u32 task = take(own); task < n_tasks; task = take(own)) {
            if (kind == SEARCH) {
                const u32 pair = task / n_blocks, begin = task % n_blocks * each, stride = step ? 2 : 1;
                const u32 end = begin + each < n_features ? begin + each : n_features;
                const u32 id = first + stride * pair;
                const least_t least = least_child(min_child_weight, scale + nodes[id].tree);
                const u32 splits_first = may_be_split(&trees, nodes + id, node_sums[id], least);
                const u32 splits_second = step && may_be_split(&trees, nodes + id + 1, node_sums[id + 1], least);
                search_nodes(&data, begin, end, nodes, id, step > 0, splits_first, splits_second, node_sums, scale,
                             reg_lambda, max_delta_step, min_child_weight, even_rows, odd_rows, pool,
                             candidates + (u64)stride * pair * n_blocks + begin / each, n_blocks);
            } else move_chunk(nodes, picked, task, n_rows, columns, feature_bins, even_rows, odd_rows);
            if (!finishes(own, n_tasks)) continue;
            if (kind == MOVE) open_after_move(&trees, phase + 1, step);
            else open_after_search(&trees, phase + 1, step, n_blocks, n_rows, columns, feature_bins, even_rows, odd_rows);
        }
        phase++;
    }
    if (finishes(counters, N_GROUPS)) { /* the last one leaves all counters at 0 */
        const u32 n_phases = (u32)READ_SHARED_U64(opened);
        for (u32 i = 0; i < (n_phases + 1) * WORDS; i++) counters[i] = 0;
        WRITE_SHARED_U64(opened, 0);
    }
}
