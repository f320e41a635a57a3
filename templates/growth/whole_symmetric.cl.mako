## whole_symmetric: one launch grows the symmetric trees of a batch, level by level, where a launch costs more than a
##                  level's work
## uses: portable_math structs gain
## uses if not counted: children
## uses if counted: counted_children
## uses: growth tables decision
## uses if noisy: random portable_log noise
##
##   begin   | search | compare | decide | move |  search | ..           phases of a level, in order
##   group 0 |  t0 t2 |  t0     |  one   | n0   |  t1 ..                 as in `whole_trees`
##
##   search   some features of a tree's level: of every two siblings the smaller one's histogram from rows, the larger
##            one's as parent minus sibling, as sums up to every border; and what each border gains roughly
##   compare  the same features: exact gains of the borders that may be the best of all features
##   decide   the level's split, and what it gives to every node; as `share` of `symmetric` and `decide` of `level` do
##   move     as in `whole_trees`
##
## params: wg_size (1); clipped, code, most_codes, at_once, phases, counter_words as in `whole_trees`;
##         masked, noisy, counted as in `symmetric`; masks and draws were made for all levels before
<%page args="wg_size, clipped, masked, noisy, code, most_codes, at_once, phases, counter_words, counted"/>
<%namespace name="payload" file="payload.cl.mako"/>
<%namespace name="pairs" file="pairs_of_nodes.cl.mako"/>
<%namespace name="tasks" file="whole_tasks.cl.mako"/>
<%namespace name="rough_scores" file="rough_scores.cl.mako"/>
<%namespace name="level_borders" file="level_borders.cl.mako"/>
<%namespace name="level_scores" file="level_scores.cl.mako"/>
<%namespace name="searches" file="level_searches.cl.mako"/>
${pairs.histograms(code, at_once)}
${rough_scores.rough(False, clipped)}
#define NO_KEY 0xFFFFFFFFu
#define MOST_BINS ${most_codes - 1}
${level_borders.borders(False, masked, False, False, noisy, by_tree=True)}
${level_scores.rough_sums(False, False, noisy)}
${level_scores.best_borders(False, False, False, noisy)}
${level_scores.shares()}
${tasks.phases(counter_words)}
${tasks.roots()}
${tasks.moves(code)}
/* What scores are made of. */
typedef struct { f32 gamma, reg_lambda, max_delta_step, min_child_weight; } limits_t;

${searches.functions(at_once, noisy)}
/* Give each node of a level its tree's split, if that gains enough. Behind the last level that has splits all are empty. */
FN void decide(const data_t* data, const u32 depth, const u32 n_levels, const limits_t limits, const f32 rate,
               GLOBAL level_t* levels, GLOBAL node_t* nodes, const payload_t payload, GLOBAL const scale_t* scale,
               GLOBAL const i64* pool, const found_t found, GLOBAL candidate_t* chosen) {
    const u32 first = levels[depth].first, count = levels[depth].count;
    u32 n_split = 0, next_best = 0;
    for (u32 index = 0; index < count; index++) {
        const u32 id = first + index;
        GLOBAL const scale_t* own_scale = scale + nodes[id].tree;
        const rule_t rule = make_rule(own_scale, limits.reg_lambda, 0.0f, limits.max_delta_step);
        const least_t least = least_child(limits.min_child_weight, own_scale);
        GLOBAL const candidate_t* best = found.candidates + (u64)(index >> depth) * data->n_places;
        if (index % (1u << depth) == 0)
            next_best = ${"highest_of(found.noisy_ranks + (u64)(index >> depth) * data->n_places, data->n_places)" if noisy else "best_of(best, data->n_places)"};
        candidate_t own = level_split(best + next_best, rule, limits.gamma);
        const i64x2 sums = payload.sums[id];
        if (own.score_hi > NO_SCORE && sums.y > 0) {
            GLOBAL const i64* cells = pool + 2 * ((u64)nodes[id].slot * data->n_codes + data->feature_offset[own.feature]);
            take_share(&own, cells, data->feature_bins[own.feature], sums, least, rule, rule);
        }
        chosen[index] = own;
        finish_table_node(nodes, payload, id, rule, rate, least);
        if (own.score_hi > NO_SCORE)
            split_node(nodes, payload, id, first + count + 2 * n_split++, chosen + index,
                       finite(scale_by(own.score_hi, rule.gain_power)));
    }
    for (u32 next = depth + 1; next <= (n_split ? depth + 1 : n_levels); next++) {
        levels[next].first = first + count;
        levels[next].count = 2 * n_split;
        levels[next].row_tasks = levels[next].hist_tasks = 0;
    }
}

% if noisy:
FN void scale_noise(const u32 n_trees, const u32 n_sums, const f32 strength, const f32 rates_so_far, const f32 log_rows,
                    GLOBAL const i64* squares, GLOBAL const i64x2* node_sums, GLOBAL f32* noise) {
    for (u32 tree = 0; tree < n_trees; tree++) {
        i64 sum = 0;
        for (u32 i = 0; i < n_sums; i++) sum += squares[tree * n_sums + i];
        noise[tree] = noise_size(sum, node_sums[tree].y, strength, rates_so_far, log_rows);
    }
}

% endif
/* Search or compare the borders of a tree's features begin .. end - 1 in all nodes of a level. */
FN void do_task(const data_t* data, const u32 compares, const u32 depth, const u32 last, const u32 tree, const u32 begin, const u32 end,
                ${"GLOBAL const u32* draws, GLOBAL const f32* noise, " if noisy else ""}const limits_t limits, ${"GLOBAL const u32* allowed, " if masked else ""}GLOBAL const level_t* levels,
                GLOBAL const node_t* nodes, const payload_t payload, GLOBAL const scale_t* scale,
                GLOBAL const u32* rows, GLOBAL i64x2* pool, GLOBAL i64x2* scratch, const found_t found) {
    for (u32 some = begin; some < end; some += ${at_once}) {
        const u32 behind = some + ${at_once} < end ? some + ${at_once} : end;
        level_borders_t borders[${at_once}];
        for (u32 feature = some; feature < behind; feature++) {
            level_borders_t* own = &borders[feature - some];
            *own = borders_of(
                ${"draws, noise, " if noisy else ""}depth, tree, feature, data->n_places, data->n_codes, limits.reg_lambda, 0.0f,
                limits.max_delta_step, limits.min_child_weight, data->feature_bins, ${"allowed, " if masked else ""}levels, nodes, payload.sums,
                payload.bounds, scale, data->feature_offset, data->feature_bins, (GLOBAL const i64*)pool);
            if (compares) compare(data, tree, feature, own, found);
        }
        if (!compares)
            search_roughly(data, depth, last, tree, some, behind, borders, rows, scale + borders[0].nodes[0].tree, pool,
                           scratch, found);
    }
}

KERNEL(${wg_size}) grow(
        const u32 n_levels, const u32 n_trees, const u32 n_rows, const u32 n_sums, const u32 n_places,
        const u32 n_codes, const f32 gamma, const f32 reg_lambda, const f32 max_delta_step,
        const f32 min_child_weight, GLOBAL const i64* RESTRICT sums, GLOBAL const f32* RESTRICT leaf_rate,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const ${code}* RESTRICT codes,
        GLOBAL const i32x2* RESTRICT quanta, GLOBAL const i32x2* RESTRICT high_words,
% if noisy:
        const u32 n_batches, const f32 strength, const f32 learning_rate, const f32 log_rows,
        GLOBAL const u32* RESTRICT header, GLOBAL const i64* RESTRICT squares, GLOBAL const u32* RESTRICT draws,
        GLOBAL f32* noise, GLOBAL f32* noisy_ranks,
% endif
        ${"GLOBAL const u32* RESTRICT allowed, " if masked else ""}GLOBAL level_t* levels, GLOBAL node_t* nodes, ${payload.parameters()},
        GLOBAL u32* even_rows, GLOBAL u32* odd_rows, GLOBAL i64x2* pool, GLOBAL i64x2* scratch, GLOBAL f32* rough_sums, GLOBAL f32* rough_best,
        GLOBAL candidate_t* candidates, GLOBAL candidate_t* chosen, GLOBAL u32* counters, GLOBAL u64* opened) {
${pairs.read()}\
    const limits_t limits = {gamma, reg_lambda, max_delta_step, min_child_weight};
    const found_t found = {rough_sums, rough_best, ${"noisy_ranks, " if noisy else ""}candidates};
${payload.read()}\
    GLOBAL i64x2* own_scratch = scratch + (u64)GROUP_ID * ${at_once * most_codes};
    if (take(counters) == 0) {
        begin_trees(n_trees, n_rows, n_sums, sums, levels, nodes, payload);
% if noisy:
        const f32 far = (f32)(header[3] / n_batches) * learning_rate;
        scale_noise(n_trees, n_sums, strength, far, log_rows, squares, node_sums, noise);
% endif
        open_next(opened, 0);
    }
    wait_for(opened, 0);
    for (u32 depth = 0; depth < n_levels; depth++) {
        const u32 n_nodes = levels[depth].count, n_growing = n_nodes >> depth, phase = 1 + ${phases} * depth;
        if (n_nodes == 0) break;
        const u32 each = features_of_task(n_places, n_growing, N_GROUPS);
        const u32 n_blocks = (n_places + each - 1) / each, n_tasks = n_growing * n_blocks;
% if masked:
        GLOBAL const u32* masks = allowed + (u64)depth * n_trees * ((n_places + 31) / 32);
% endif
% if noisy:
        GLOBAL const u32* bits = draws + (u64)depth * n_trees * n_places;
% endif
        for (u32 step = 0; step < 2; step++) {
            GLOBAL u32* searched = counters + (phase + step) * WORDS;
            for (u32 task = take(searched); task < n_tasks; task = take(searched)) {
                const u32 tree = task / n_blocks, begin = task % n_blocks * each;
                const u32 end = begin + each < n_places ? begin + each : n_places;
                do_task(&data, step, depth, depth + 1 == n_levels, tree, begin, end, ${"bits, noise, " if noisy else ""}limits, ${"masks, " if masked else ""}levels, nodes,
                        payload, scale, depth % 2 ? odd_rows : even_rows, pool, own_scratch, found);
                if (finishes(searched, n_tasks)) {
                    if (step)
                        decide(&data, depth, n_levels, limits, leaf_rate[0], levels, nodes, payload, scale,
                               (GLOBAL const i64*)pool, found, chosen);
                    open_next(opened, phase + step);
                }
            }
            wait_for(opened, phase + step);
        }
${tasks.move_level("counters + (phase + 2) * WORDS", 2)}\
    }
${tasks.end_launch(phases)}\
}
