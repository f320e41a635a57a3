## whole_best_first: one launch grows the trees of a batch leaf by leaf, where a launch costs more than a split's work
## uses: portable_math structs gain
## uses if not counted: children
## uses if counted: counted_children
## uses if doubles: double_scores
## uses: growth decision
##
##   begin   | search | next | search | next | move | add | search | next ..  a step: the leaf of every tree that splits
##   group 0 |  t0 t2 |  one |  t1    |      |  m0  |  a0 |  t0 ..            groups take tasks from a counter; who
##   group 1 |  t1    |      |  t0 t2 |  one |  m1  |  a1 |  t1 ..            finishes the last one decides what is next
##
##   search  a pair of siblings and some features, as `whole_trees` does; few rows are searched by their own codes
##   add     of a single pair of many rows, all groups add parts first, so that one group alone gathers a row's codes
##   next    the new nodes come to the open leaves, and of every tree that one splits that gains most, as `best_first`
##           does
##   move    rows of these leaves to their children: few by the group that decides, many in chunks by all groups
##
##   A group waits only for tasks that other running groups have taken, as in `whole_trees`. One that starts late
##   begins with the phase that is open.
##
## params: wg_size (1); clipped, code, most_codes, counter_words, counted, doubles as in `whole_trees`; few_rows
##         of a node whose children are searched by their own codes; chunk, rows of a task that moves some;
##         prefetch, rows ahead that are asked for (0: not at all); most_features of a task, a multiple of 8 (half
##         of it where rows have more); staged, rows whose codes are copied before they are added; added_rows from
##         which on groups add parts
<%page args="wg_size, clipped, code, most_codes, counter_words, counted, doubles, few_rows, chunk, prefetch, most_features, staged, added_rows"/>
<%namespace name="payload" file="payload.cl.mako"/>
<%namespace name="candidates" file="candidates.cl.mako"/>
<%namespace name="runs" file="runs_of_borders.cl.mako"/>
<%namespace name="tasks" file="whole_tasks.cl.mako"/>
<%namespace name="pairs" file="pairs_of_nodes.cl.mako"/>
<%namespace name="leaves_of_trees" file="leaves_of_trees.cl.mako"/>
<%namespace name="staged_rows" file="staged_rows.cl.mako"/>
<%namespace name="rows_of_nodes" file="rows_of_nodes.cl.mako"/>
${candidates.consider(False)}
${runs.functions(most_codes - 1, False, False, clipped, sparse=False, doubles=doubles, kept=False)}
${pairs.searches(copies=True)}
${tasks.phases(counter_words)}
${tasks.roots()}
${tasks.places()}
${staged_rows.histograms(code, prefetch, most_codes, most_features, staged)}
${staged_rows.parts(most_codes)}
${rows_of_nodes.few_rows(code, few_rows, most_codes)}
${rows_of_nodes.chunks(code, chunk)}
${leaves_of_trees.leaves()}

/* What a phase's counters are followed by: its tasks, what these are, and the step. */
#define N_TASKS 1
#define KIND 2
#define STEP 3
#define EACH 4 /* features of a task */
#define SEARCH 0
#define MOVE 1
#define END 2
#define ADD 3

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

/* Open the search of a step's new nodes. */
FN void open_search(const trees_t* trees, const u32 phase, const u32 step) {
    const u32 n_pairs = step ? trees->levels[step].count / 2 : trees->levels[0].count;
    const u32 n_tasks = trees->n_units * (trees->n_units > 1 && n_pairs > 1 ? 2 : 1);
    const u32 share = (u32)((u64)trees->n_features * n_pairs / n_tasks + 3) / 4 * 4;
    const u32 most = trees->n_features > ${most_features} ? ${most_features // 2} : ${most_features}; /* of several tasks cells share a cache */
    const u32 each = share > most ? most : (share < 4 ? 4 : share);
    open_phase(trees, phase, SEARCH, step, n_pairs * ((trees->n_features + each - 1) / each), each);
}

/* The node of a step's only pair whose rows are added, or its root. */
FN u32 added_node(const trees_t* trees, const u32 step) {
    const u32 id = trees->levels[step].first;
    return id + (step && trees->nodes[id].sibling_slot >= 0);
}

/* Open what a step's new nodes need first: groups add parts of many rows, or search. */
FN void open_nodes(const trees_t* trees, const u32 phase, const u32 step) {
    GLOBAL const node_t* node = trees->nodes + added_node(trees, step);
    const u32 by_parts = trees->levels[step].count == (step ? 2u : 1u) && trees->n_units > 1 &&
                         trees->n_features <= ${most_features} && node->count >= ${added_rows};
    if (by_parts && node->depth < trees->max_depth)
        open_phase(trees, phase, ADD, step, (node->count + STAGED - 1) / STAGED, 0);
    else open_search(trees, phase, step);
}

/* What follows the move of a step's rows. */
FN void open_after_move(const trees_t* trees, const u32 phase, const u32 step) {
    place_children(trees, step);
    if (step + 1 < trees->n_levels) open_nodes(trees, phase, step + 1);
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

/* Search a pair's splits, or a root's, by some features. */
FN void search_task(const trees_t* trees, const data_t* data, GLOBAL const u32* phase, const u32 task,
                    GLOBAL const u32* even_rows, GLOBAL const u32* odd_rows, GLOBAL i64x2* pool) {
    GLOBAL const u32* before = phase - WORDS;
    GLOBAL const node_t* nodes = trees->nodes;
    GLOBAL const i64x2* sums = trees->payload.sums;
    const u32 step = phase[STEP], each = phase[EACH], n_blocks = (trees->n_features + each - 1) / each;
    const u32 stride = step ? 2 : 1, pair = task / n_blocks, begin = task % n_blocks * each;
    const u32 end = begin + each < trees->n_features ? begin + each : trees->n_features;
    const u32 id = trees->levels[step].first + stride * pair;
    const least_t least = least_child(trees->min_child_weight, trees->scale + nodes[id].tree);
    const u32 splits_first = may_be_split(trees, nodes + id, sums[id], least);
    const u32 splits_second = step && may_be_split(trees, nodes + id + 1, sums[id + 1], least);
    search_nodes(data, before[KIND] == ADD ? before : 0, begin, end, nodes, id, step > 0, splits_first, splits_second,
                 sums, trees->scale, trees->reg_lambda, trees->max_delta_step, trees->min_child_weight, even_rows,
                 odd_rows, pool, trees->candidates + (u64)stride * pair * n_blocks + begin / each, n_blocks);
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
    data.scratch = scratch;
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
        open_nodes(&trees, 0, 0);
    }
    u32 phase = 0;
    for (;;) {
        wait_for(opened, phase);
        phase = (u32)READ_SHARED_U64(opened) - 1;
        FENCE();
        GLOBAL u32* own = trees.counters + words_before(phase);
        const u32 n_tasks = own[N_TASKS], kind = own[KIND], step = own[STEP], each = own[EACH];
        if (kind == END) break;
        const u32 place = kind == ADD ? ask_to_add(own) : 0, n_blocks = kind == SEARCH ? (n_features + each - 1) / each : 1;
        for (u32 task = place < MOST_ADDERS ? take(own) : n_tasks; task < n_tasks; task = take(own)) {
            if (kind == SEARCH) search_task(&trees, &data, own, task, even_rows, odd_rows, pool);
            else if (kind == MOVE) move_chunk(nodes, picked, task, n_rows, columns, feature_bins, even_rows, odd_rows);
            else {
                const rows_t rows = rows_of(&data, nodes + added_node(&trees, step), scale, even_rows, odd_rows);
                add_part(&data, own, place, task, n_features, &rows);
            }
            if (!finishes(own, n_tasks)) continue;
            if (kind == MOVE) open_after_move(&trees, phase + 1, step);
            else if (kind == ADD) open_search(&trees, phase + 1, step);
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
