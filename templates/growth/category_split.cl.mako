## category_split: the best split by a set of levels, of every node of a level and categorical feature
## uses: portable_math structs gain
## uses if not counted: children
## uses if counted: counted_children
## uses if smooth: smoothing
## uses if drawn: draws
## uses if noisy: random portable_log noise
## uses: category_order
##
##   order_levels   one work-group a (categorical feature, node), behind `find`, which subtracts siblings
##   find_sets      scores the borders between levels in order
##   sum_sets       the sums of the best split's left child, where weights are smoothed: registers are few then
##
##   levels      a  b  c  d  e       of one that has rows: (key, code), the key is -G / (H + lambda + smooth)
##   in order    c  a  e  b  d       a radix sort by key: of equal keys the lower code comes first
##   right      |c  a|  left ..      a border behind each level, at most `most` levels on the smaller side
##
##   A CPU keeps the first and the last levels alone, by rough keys, and sorts these.
##   Levels of a smaller Hessian than a child's weigh 0, and stay together: their weights would be noise.
##   The rest, which is missing values and levels without rows or with too few, goes right or left together.
##   The key of a split is 2 * the border's code + (the rest goes left). With few levels, one of them goes
##   right alone.
##
## params: wg_size; digit, bits of a digit of the sort; monotone, masked, counted, drawn, noisy, smooth as in
##         `split`; n_facts, what is known of a node's feature, see `order_levels`
<%page args="wg_size, digit, monotone, masked, n_facts, counted, drawn, noisy, smooth"/>
<%namespace name="candidates" file="candidates.cl.mako"/>
<%namespace name="cells" file="category_cells.cl.mako"/>
<%namespace name="sort" file="level_sort.cl.mako"/>
<%namespace name="borders" file="set_borders.cl.mako"/>
<%
    digits = 1 << digit
    frugal = smooth or noisy  # weights or ranks that take many registers
    smoothing = """
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step, const f32 path_smooth,
        GLOBAL const f32* RESTRICT node_weights,""" if smooth else ""
%>\
${cells.read(wg_size)}
${candidates.group_best(wg_size)}
${candidates.consider(monotone, noisy, smooth, bare=smooth)}
${sort.functions(wg_size, digit)}
${borders.functions(wg_size, monotone, drawn, noisy, smooth, frugal)}
/* Facts of a node's feature: levels in order, their sums, the fullest code's sums, entries kept${", `above`'s bits" if smooth else ""}. */
KERNEL(${wg_size}) order_levels(
        const u32 depth, const u32 n_features, const u32 n_codes, const u32 n_order, const u32 all_rows,
        const u32 smooth_rows, const u32 most, const f32 order_lambda, const f32 min_child_weight,${smoothing}
        GLOBAL const u32x4* RESTRICT set_features,
        ${"GLOBAL const u32* RESTRICT allowed, " if masked else ""}GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const i64x2* RESTRICT node_sums, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const u32* RESTRICT fullest,
        GLOBAL const i64* RESTRICT pool, GLOBAL u64* order, GLOBAL u64* spare, GLOBAL i64* RESTRICT facts) {
    LOCAL_ARRAY(i64, shared, ${2 * wg_size});
    LOCAL_ARRAY(u32, counts, ${digits * wg_size});
    LOCAL_ARRAY(u32, heads, ${wg_size});
% if wg_size == 1:
    LOCAL_ARRAY(u32, classes, 4096);
% endif
    const u32x4 own = set_features[GROUP_ID]; /* feature, begin of its entries, one-hot */
    const u32 feature = own.x, offset = feature_offset[feature];
    const u32 first = levels[depth].first, count = levels[depth].count;
    for (u32 index = GROUP_ID_Y; index < count; index += N_GROUPS_Y) {
        GLOBAL const node_t* node = &nodes[first + index];
        GLOBAL u64* entries = order + (u64)index * n_order + own.y;
        const order_t order_of = make_order(scale + node->tree, order_lambda, min_child_weight);
        const i64 few = own.z ? 0 : hessian_of_rows(smooth_rows, all_rows, node_sums[node->tree].y);
        const level_sums_t sums = read_levels(
            node_sums[first + index], pool + 2 * ((u64)node->slot * n_codes + offset),
            feature_offset[feature + 1] - offset, fullest[feature], shared);
% if masked:
        const u32 searched = (allowed[(u64)index * ((n_features + 31) / 32) + feature / 32] >> feature % 32) & 1;
        const u32 n_listed = searched ? feature_bins[feature] : 0;
% else:
        (void)n_features;
        const u32 n_listed = feature_bins[feature];
% endif
        i64 ordered_g, ordered_h;
        const u32 n = list_levels(
            sums, n_listed, few > 1 ? few : 1, order_of, own.z, &ordered_g, &ordered_h, entries, heads, shared);
% if wg_size == 1:
        const u32 kept = own.z ? n : keep_ends(entries, n, most, classes);
        for (u32 i = 0; !own.z && i < kept; i++) {
            const i64x2 sum = sums_of_level(sums, (u32)entries[i]);
            entries[i] = (u64)order_key(sum.x, sum.y, order_of) << 32 | (u32)entries[i];
        }
% else:
        const u32 kept = n;
        (void)most;
% endif
        sort_entries(entries, spare + (u64)index * n_order + own.y, own.z ? 0 : kept, counts, heads);
        if (LOCAL_ID == 0) {
            GLOBAL i64* fact = facts + ${n_facts} * ((u64)index * N_GROUPS + GROUP_ID);
            fact[0] = n;
            fact[1] = ordered_g;
            fact[2] = ordered_h;
            fact[3] = sums.full_g;
            fact[4] = sums.full_h;
            fact[5] = kept;
% if smooth:
            const rule_t rule = make_rule(scale + node->tree, reg_lambda, reg_alpha, max_delta_step);
            fact[6] = as_u32(smoothing_below(path_smooth, scale + node->tree, node, node_sums[first + index],
                                             node_weights, rule).above);
% endif
        }
    }
}

<%def name="arguments()">\
        const u32 depth, const u32 n_features, const u32 n_codes, const u32 n_order, const u32 all_rows,
        const u32 group_rows, const u32 most, const f32 set_lambda, const f32 reg_lambda,
        const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight,${" const f32 path_smooth," if smooth else ""}
        GLOBAL const u32x4* RESTRICT set_features, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const i64x2* RESTRICT node_sums,
        GLOBAL const bounds_t* RESTRICT node_bounds, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const u32* RESTRICT fullest,
        GLOBAL const i64* RESTRICT pool, GLOBAL const u64* RESTRICT order,
        GLOBAL const i64* RESTRICT facts,${" GLOBAL const u32* RESTRICT draws," if drawn or noisy else ""}${" GLOBAL const f32* RESTRICT noise, GLOBAL f32* RESTRICT noisy_ranks," if noisy else ""} GLOBAL candidate_t* RESTRICT candidates\
</%def>\
<%def name="borders_of_node()">\
        GLOBAL const node_t* node = &nodes[first + index];
        GLOBAL const scale_t* own_scale = scale + node->tree;
        GLOBAL const u64* entries = order + (u64)index * n_order + own.y;
        GLOBAL const i64* fact = facts + ${n_facts} * ((u64)index * N_GROUPS + GROUP_ID);
        level_sums_t sums;
        sums.cells = pool + 2 * ((u64)node->slot * n_codes + feature_offset[feature]);
        sums.full = fullest[feature];
        sums.full_g = fact[3];
        sums.full_h = fact[4];
        parent_t parent;
        read_tree(&parent, own_scale, own.z ? reg_lambda : set_lambda, reg_alpha, max_delta_step, min_child_weight);
        read_node(&parent, node_sums[first + index]${", node_bounds[first + index]" if monotone else ""});
% if noisy:
        parent.bits = draws[(u64)index * n_features + feature];
        parent.noise = noise[node->tree];
% endif
% if smooth:
        parent.smoothing.strength = path_smooth;
        parent.smoothing.above = as_f32((u32)fact[6]);
        parent.smoothing.bits = parent.least.bits;
% endif
        const i64 group_h = own.z ? 0 : hessian_of_rows(group_rows, all_rows, node_sums[node->tree].y);
        if (group_h > parent.least.h) parent.least.h = group_h;
        choice_t choice;
        choice.n = (u32)fact[0];
        choice.n_entries = (u32)fact[5];
        choice.ordered_g = fact[1];
        choice.ordered_h = fact[2];
        choice.rest_g = parent.g - choice.ordered_g;
        choice.rest_h = parent.h - choice.ordered_h;
        choice.most = most;
        choice.one_hot = own.z;
        const run_t run = run_of(choice, sums, entries, shared${", middle" if frugal else ""});
% if drawn:
        choice.only = drawn_place(draws[(u64)index * n_features + feature], run.n_visited);
% endif
</%def>\
KERNEL(${wg_size}) find_sets(
${arguments()}) {
    LOCAL_ARRAY(i64, shared, ${2 * wg_size});
    ${"LOCAL_ARRAY(i64, middle, 2);" if frugal else ""}
    LOCAL_ARRAY(f32, best_hi, ${wg_size});
    LOCAL_ARRAY(f32, best_lo, ${wg_size});
    LOCAL_ARRAY(u32, best_key, ${wg_size});
% if not monotone:
    (void)node_bounds;
% endif
    const u32x4 own = set_features[GROUP_ID]; /* feature, begin of its entries, one-hot */
    const u32 feature = own.x;
    const u32 first = levels[depth].first, count = levels[depth].count;
    for (u32 index = GROUP_ID_Y; index < count; index += N_GROUPS_Y) {
${borders_of_node()}\
% if monotone or frugal:
        best_t best = best_exact(choice, run, sums, entries, &parent, 1, -1.0f);
% else:
        const int exact_only = is_exact_only(&parent);
        const f32 rough = exact_only ? -1.0f : best_rough(choice, run, sums, entries, &parent);
        const f32 least_score = exact_only ? -1.0f : group_max(rough, best_hi) * LESS;
        best_t best = best_exact(choice, run, sums, entries, &parent, exact_only, least_score);
% endif
        const u32 mine = best.at;
% if wg_size > 1:
% if noisy:
        df top = df_make(best.rank, 0.0f);
        group_best(&top, &best.at, best_hi, best_lo, best_key);
% else:
        group_best(&best.score, &best.at, best_hi, best_lo, best_key);
% endif
% endif
% if noisy:
        if (best.at == NO_KEY ? LOCAL_ID == 0 : mine == best.at) noisy_ranks[(u64)index * n_features + feature] = best.rank;
% endif
        if (best.at == NO_KEY ? LOCAL_ID == 0 : mine == best.at)
            write_candidate(&candidates[(u64)index * n_features + feature], feature, best);
    }
}
% if smooth:

/* Give the best splits the sums of their left children. */
KERNEL(${wg_size}) sum_sets(
${arguments()}) {
    LOCAL_ARRAY(i64, shared, ${2 * wg_size});
    LOCAL_ARRAY(i64, middle, 2);
    (void)node_bounds;
    const u32x4 own = set_features[GROUP_ID];
    const u32 feature = own.x;
    const u32 first = levels[depth].first, count = levels[depth].count;
    for (u32 index = GROUP_ID_Y; index < count; index += N_GROUPS_Y) {
${borders_of_node()}\
        give_sums(choice, run, sums, entries, &parent, &candidates[(u64)index * n_features + feature]);
        BARRIER();
    }
}
% endif
