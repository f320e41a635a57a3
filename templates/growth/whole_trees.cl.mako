## whole_trees: one launch grows the trees of a batch, level by level, where a launch costs more than a level's work
## uses: portable_math structs gain
## uses if not counted: children
## uses if counted: counted_children
## uses if doubles: double_scores
## uses: growth decision
##
##   begin   | search | decide | move |  search | decide | move | ..     phases of a level, in order
##   group 0 |  t0 t2 |  one   | n0   |  t1 ..                           groups take tasks from a counter;
##   group 1 |  t1 t3 |        | n1   |  t0 t2 ..                        who finishes the last one decides
##
##   search  a pair of siblings and some features: the smaller child's histogram from rows, the larger one's
##           as parent minus sibling, and the best border of each of the two
##   decide  which nodes of the level split; as `level` does
##   move    a node that splits: its rows to its children, and where their histograms will lie
##
##   `whole_tasks` says how groups share tasks.
##
## params: wg_size (1); clipped, weights are, by max_delta_step; code, the codes' type; most_codes of a feature;
##         at_once, columns whose histograms are built together; phases of a level; counter_words of a phase;
##         counted as in `split`; doubles, the device has them, and weights are not clipped; drawn, trees draw some of
##         the features; joint, rows of a node from which on features with a joint code are read by that (0: none has
##         one); by_row, places that are read together, row by row (0: columns are, at_once together); prefetch, rows
##         ahead; roots_at_once, trees whose roots are read together, by root_places places (0: each tree's by itself)
<%page args="wg_size, clipped, code, most_codes, at_once, phases, counter_words, counted, doubles, drawn, joint, by_row, prefetch, roots_at_once, root_places"/>
<%namespace name="payload" file="payload.cl.mako"/>
<%namespace name="candidates" file="candidates.cl.mako"/>
<%namespace name="runs" file="runs_of_borders.cl.mako"/>
<%namespace name="pairs" file="pairs_of_nodes.cl.mako"/>
<%namespace name="siblings" file="search_of_pairs.cl.mako"/>
<%namespace name="packed" file="packed_rows.cl.mako"/>
<%namespace name="roots" file="roots_together.cl.mako"/>
<%namespace name="tasks" file="whole_tasks.cl.mako"/>
${candidates.consider(False)}
## cells from a place's first one to the next place's, see CELLS_APART
<%
    apart = most_codes + 128
    packs = joint and not drawn # rows are added in words where these do not overflow: their codes are those of all trees
%>\
${pairs.histograms(code, at_once, drawn, joint, by_row, apart, prefetch, packs)}
% if packs:
${packed.packed_rows(code, by_row, apart, prefetch)}
% endif
${runs.functions(most_codes - 1, False, False, clipped, sparse=False, doubles=doubles, kept=False)}
${pairs.searches()}
${siblings.searches_of_pairs(at_once, most_codes, joint, by_row, apart, drawn, packs)}
% if roots_at_once:
${roots.searches_of_roots(code, most_codes, by_row, joint, roots_at_once, root_places)}
% endif
<% scratch_cells = (max(at_once, by_row) + (by_row // 2 if packs else 0) + 2) * apart + roots_at_once * root_places * most_codes %>

${tasks.phases(counter_words)}
${tasks.roots()}
% if joint:
/* Index of the best of a node's candidates; of equal scores the one of the lowest feature. Those of several features
   with a joint code do not come in their order. */
FN u32 best_by_feature(GLOBAL const candidate_t* mine, const u32 n) {
    u32 best = 0;
    for (u32 i = 1; i < n; i++) {
        const df top = df_make(mine[best].score_hi, mine[best].score_lo), own = df_make(mine[i].score_hi, mine[i].score_lo);
        if (ahead(own, mine[i].feature, top, mine[best].feature)) best = i;
    }
    return best;
}

% endif
/* Decide which nodes of a level split, of `n_each` candidates each. Behind the last level that has splits
   all levels are empty. */
FN void decide(const u32 depth, const u32 n_levels, const u32 n_each, const f32 gamma, const f32 reg_lambda,
               const f32 max_delta_step, const f32 rate, GLOBAL level_t* levels, GLOBAL node_t* nodes,
               const payload_t payload, GLOBAL const scale_t* scale, GLOBAL const candidate_t* candidates) {
    const u32 first = levels[depth].first, count = levels[depth].count;
    u32 n_split = 0;
    for (u32 index = 0; index < count; index++) {
        const u32 id = first + index;
        const rule_t rule = make_rule(scale + nodes[id].tree, reg_lambda, 0.0f, max_delta_step);
        GLOBAL const candidate_t* c = candidates + (u64)index * n_each;
        c += ${"best_by_feature" if joint else "best_of"}(c, n_each);
        f32 gain = 0.0f;
        int split = c->score_hi > NO_SCORE;
        if (split) {
            gain = gain_of(c, payload.sums[id], rule);
            split = gain > 1e-6f && gain >= gamma;
        }
        finish_node(nodes, payload, id, payload.sums[id], rule, rate);
        if (split) split_node(nodes, payload, id, first + count + 2 * n_split++, c, gain);
    }
    for (u32 next = depth + 1; next <= (n_split ? depth + 1 : n_levels); next++) {
        levels[next].first = first + count;
        levels[next].count = 2 * n_split;
        levels[next].row_tasks = levels[next].hist_tasks = 0;
    }
}

${tasks.moves(code)}
KERNEL(${wg_size}) grow(
        const u32 n_levels, const u32 n_trees, const u32 n_rows, const u32 n_sums, ${"const u32 n_drawn" if drawn and joint else "const u32 n_places"},
        const u32 n_codes, const f32 gamma, const f32 reg_lambda, const f32 max_delta_step,
        const f32 min_child_weight, GLOBAL const i64* RESTRICT sums, GLOBAL const f32* RESTRICT leaf_rate,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, ${"GLOBAL const u32* RESTRICT drawn_columns, " if drawn and not joint else ""}GLOBAL const ${code}* RESTRICT codes,
        GLOBAL const i32x2* RESTRICT quanta, GLOBAL const i32x2* RESTRICT high_words,
% if joint:
        ${"GLOBAL const u32* RESTRICT drawn_places, const u64 tree_codes" if drawn else "const u32 n_joint"}, GLOBAL const u32* RESTRICT members, GLOBAL const u32* RESTRICT member_begin,
        GLOBAL const u32* RESTRICT digit_begin, GLOBAL const u32* RESTRICT digit_cells,
        GLOBAL const u32* RESTRICT place_cells, GLOBAL const u32* RESTRICT fullest,
% endif
% if by_row:
        const u32 n_units, const u32 row_codes, const u64 block_codes, GLOBAL const ${code}* RESTRICT by_row,
% if packs:
        GLOBAL u32* run_rows,
% endif
% endif
        GLOBAL level_t* levels, GLOBAL node_t* nodes, ${payload.parameters()},
        GLOBAL u32* even_rows, GLOBAL u32* odd_rows,
        GLOBAL i64x2* pool, GLOBAL i64x2* scratch, GLOBAL candidate_t* candidates,
        GLOBAL u32* counters, GLOBAL u64* opened) {
% if drawn and joint:
    const u32 n_places = most_places(drawn_places, n_trees);
% endif
${pairs.read(drawn, joint, by_row, packs)}\
${payload.read()}\
    GLOBAL i64x2* own_scratch = scratch + (u64)GROUP_ID * ${(scratch_cells + 3) // 4 * 4};
    if (take(counters) == 0) {
        begin_trees(n_trees, n_rows, n_sums, sums, levels, nodes, payload);
        open_next(opened, 0);
    }
    wait_for(opened, 0);
    for (u32 depth = 0; depth < n_levels; depth++) {
        const u32 first = levels[depth].first, n_nodes = levels[depth].count, phase = 1 + ${phases} * depth;
        if (n_nodes == 0) break;
% if roots_at_once:
        const u32 stride = depth ? 2 : 1, n_pairs = depth ? n_nodes / 2 : root_groups(n_trees);
% else:
        const u32 stride = depth ? 2 : 1, n_pairs = n_nodes / stride;
% endif
        ${"u32" if roots_at_once else "const u32"} each = ${"places_of_task(n_places, n_pairs, n_units)" if by_row else "features_of_task(n_places, n_pairs, N_GROUPS)"};
% if roots_at_once:
        if (depth == 0 && each > ${root_places}) each = ${root_places};
% endif
        const u32 n_blocks = (n_places + each - 1) / each, n_tasks = n_pairs * n_blocks;
        GLOBAL u32* searched = counters + phase * WORDS;
        for (u32 task = take(searched); task < n_tasks; task = take(searched)) {
            const u32 begin = task % n_blocks * each, end = begin + each < n_places ? begin + each : n_places;
            u32 pair = task / n_blocks, n_own = 1;
% if roots_at_once:
            if (depth == 0) pair = trees_of_group(task / n_blocks, n_trees, &n_own);
            if (n_own > 1 && !any_wide(scale + pair, n_own)) {
                search_roots(&data, pair, n_own, begin, end, n_levels == 1, nodes, node_sums, scale, reg_lambda,
                             max_delta_step, min_child_weight, pool, own_scratch, candidates + begin / each, n_blocks);
                n_own = 0;
            }
% endif
            for (const u32 behind = pair + n_own; pair < behind; pair++)
                search_pair(&data, depth, begin, end, depth + 1 == n_levels, nodes + first + stride * pair,
                            node_sums + first + stride * pair, scale, reg_lambda, max_delta_step, min_child_weight,
                            even_rows, odd_rows, pool, own_scratch,
                            candidates + (u64)stride * pair * n_blocks + begin / each, n_blocks);
            if (finishes(searched, n_tasks)) {
                decide(depth, n_levels, n_blocks, gamma, reg_lambda, max_delta_step, leaf_rate[0], levels,
                       nodes, payload, scale, candidates);
                open_next(opened, phase);
            }
        }
        wait_for(opened, phase);
${tasks.move_level("searched + WORDS", 1)}\
    }
${tasks.end_launch(phases)}\
}
