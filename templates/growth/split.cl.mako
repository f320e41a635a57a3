## split: the best split of every node of a level, from its histogram
## uses: portable_math structs gain
## uses if not counted: children
## uses if counted: counted_children
## uses if smooth: smoothing
## uses if drawn: draws
## uses if noisy: random portable_log noise
##
##   find   one work-group a (feature, node): each work-item takes a run of neighbouring bins, the
##          group scans over the runs, then every bin border is scored with the missing rows on
##          the right and, where there are any, on the left
##
##   bins      | 0 1 | 2 3 | 4 5 | missing      a border behind bin b sends bins 0..b to the left
##   items     |  i0 |  i1 |  i2 |
##
##   Exact scores cost ten times rough ones. So only borders near the best rough score get one: near
##   the group's best and, with many features, near the best that the node has so far, which its record
##   tells (its `gain`, which nothing else uses until the node is finished).
##   A group searches its feature in some neighbouring nodes; neighbours begin with different nodes.
##   A node whose sibling was built from rows gets  histogram = parent - sibling  first, in place.
##   Group 0 in x has the feature `first_feature`: members of a team may search features of their own.
##   Order of splits: score, then lowest feature, then lowest bin, then missing to the right.
##
## params: wg_size (at least 2; `split_cpu` is for one); monotone, features have constraints;
##         masked, nodes have features of their own; categories, some features are left to `category_split`;
##         many, so many features that a node's record tells the best rough score;
##         counted, children have to have a number of rows; drawn, one border of a feature, drawn at random,
##         may be a split; noisy, splits are ranked by their scores with noise, and `noisy_ranks` tells the ranks;
##         smooth, weights are moved towards those of parents: all borders get exact scores;
##         gathered, features are those that a tree has drawn of `n_all`, whose histograms are equally wide
<%page args="wg_size, monotone, masked, categories, many, counted, drawn, noisy, smooth, gathered"/>
<%
    frugal = smooth and noisy  # registers are few: the sums so far lie in local memory, one loop has both directions
    place, n_all = ("place", "n_all") if gathered else ("feature", "n_features")
    searched = " && ".join(
        ["!feature_kinds[feature]"] * categories
        + [f"is_allowed(allowed, index, feature, {n_all})"] * masked)
    only = f", drawn_place(draws[(u64)index * {n_all} + feature], n_bins - 1 + has_missing)" * drawn
    only += f", &noisy_ranks[(u64)index * n_features + {place}]" * noisy
    end = f"{searched} ? run.end : run.begin" if searched else "run.end"
%>
<%namespace name="candidates" file="candidates.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="run_sums" file="run_sums.cl.mako"/>
${group.exclusive_scans("group_scan", "i64", wg_size, 2)}
${group.largest("group_max", "f32", wg_size)}
${candidates.group_best(wg_size)}
${candidates.consider(monotone, noisy, smooth, frugal=frugal)}
${run_sums.functions(wg_size)}
<%def name="each_border()">
% if frugal:
    node->sums[LOCAL_ID] = run.left_g;
    node->sums[LOCAL_ID + ${wg_size}] = run.left_h;
    for (u32 step = 2 * run.begin; step < 2 * end; step++) {
        const u32 bin = step >> 1, direction = step & 1;
        FETCH(cells, bin)
        const i64 bin_h = bin == run.full ? run.full_h : sum_h;
        i64 left_g = node->sums[LOCAL_ID], left_h = node->sums[LOCAL_ID + ${wg_size}];
        if (!direction) {
            left_g += bin == run.full ? run.full_g : sum_g;
            left_h += bin_h;
            node->sums[LOCAL_ID] = left_g;
            node->sums[LOCAL_ID + ${wg_size}] = left_h;
        }
        if (direction && run.missing_h <= 0) continue;
% else:
    i64 left_g = run.left_g, left_h = run.left_h;
    for (u32 bin = run.begin; bin < end; bin++) {
        FETCH(cells, bin)
        const i64 bin_h = bin == run.full ? run.full_h : sum_h;
        left_g += bin == run.full ? run.full_g : sum_g;
        left_h += bin_h;
% endif
        ${"if (bin != only) continue;" if drawn else "if (bin_h == 0) continue; /* the same rows as behind the bin before */"}
        ${"{" if frugal else "for (u32 direction = 0; direction < (run.missing_h > 0 ? 2u : 1u); direction++) {"}
            const i64 g = left_g + (direction ? run.missing_g : 0);
            const i64 h = left_h + (direction ? run.missing_h : 0);
            if (may_split(g, h, node->g - g, node->h - h, node->least)) {
                ${caller.body()}
            }
        }
    }
</%def>
${candidates.walk_borders(each_border, "GLOBAL const i64* cells, const run_t run, const parent_t* node, const u32 end" + ", const u32 only" * drawn,
                          "2 * bin + direction",
                          *["const u32 constraint, ", "constraint"] * monotone, noisy=noisy)}
% if not noisy:
/* The least rough score that the node's best split may have${"; the node gets to know the group's best" if many else ""}. */
FN f32 least_rough(const f32 own, const f32 known, GLOBAL node_t* node) {
% if many:
    if (LOCAL_ID == 0 && own > known) atomic_max_global_u32(&node->gain, as_u32(own));
% else:
    (void)node;
% endif
    return (own > known ? own : known) * LESS;
}
% endif

/* Find the best border of a feature in a node. */
FN void search(GLOBAL const i64* cells, const run_t run, const parent_t* parent, const u32 end,
               ${"const u32 constraint, " if monotone else ""}const f32 known,
               GLOBAL node_t* node, const u32 feature, GLOBAL candidate_t* out,
               LOCAL f32* best_hi, LOCAL f32* best_lo, LOCAL u32* best_key${", const u32 only" if drawn else ""}${", GLOBAL f32* rank" if noisy else ""}) {
% if smooth:
    const f32 least_score = ${"NO_SCORE" if noisy else "-1.0f"};
    (void)known; (void)node;
% else:
    const int exact_only = ${"1" if monotone else "is_exact_only(parent)"};
    const f32 most = best_rough(cells, run, parent, exact_only ? run.begin : end${', only' if drawn else ''});
    const f32 own = group_max(most, best_hi);
% if noisy:
    const f32 least_score = exact_only ? NO_SCORE : own; /* below it none is the best */
    (void)known; (void)node;
% else:
    const f32 least_score = exact_only ? -1.0f : least_rough(own, known, node); /* below it none is the best */
% endif
% if many:
    if (own < least_score) { /* before barriers: only for devices with the fact skips_barriers */
        if (LOCAL_ID == 0) write_candidate(out, feature, no_split());
        return;
    }
% endif
% endif
    best_t best = best_exact(
        cells, run, parent, ${"end" if smooth else "most < least_score ? run.begin : end"}${', only' if drawn else ''}${", constraint" if monotone else ""}, ${"1" if smooth else "exact_only"}, least_score);
    const u32 mine = best.at;
% if noisy:
    df top = df_make(best.rank, 0.0f);
    group_best(&top, &best.at, best_hi, best_lo, best_key);
    if (best.at == NO_KEY ? LOCAL_ID == 0 : mine == best.at) *rank = best.rank;
% else:
    group_best(&best.score, &best.at, best_hi, best_lo, best_key);
% endif
    if (best.at == NO_KEY ? LOCAL_ID == 0 : mine == best.at) write_candidate(out, feature, best);
}

% if masked:
FN int is_allowed(GLOBAL const u32* allowed, const u32 index, const u32 feature, const u32 n_features) {
    return (allowed[(u64)index * ((n_features + 31) / 32) + feature / 32] >> feature % 32) & 1;
}

% endif
<%def name="own_feature()">\
    const u32 offset = feature_offset[feature], n_bins = feature_bins[feature];
    const int has_missing = feature_offset[feature + 1] - offset > n_bins;
    run_t run = run_of(n_bins, fullest[feature]);
</%def>\
## A place of gathered columns; its feature is known when a tree is.
<%def name="own_place()">\
    const u32 offset = place * (n_codes / n_features);
    u32 feature = 0, n_bins = 0;
    int has_missing = 0;
    run_t run = run_of(0, 0);
</%def>\
<%def name="feature_of_tree()">\
            feature = drawn_columns[tree * n_features + place];
            n_bins = feature_bins[feature];
            has_missing = feature_offset[feature + 1] - feature_offset[feature] > n_bins;
            run = run_of(n_bins, fullest[feature]);
</%def>\
KERNEL(${wg_size}) find(
        const u32 depth, const u32 first_feature, const u32 n_features, const u32 n_codes,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step,
        const f32 min_child_weight, ${"const f32 path_smooth, GLOBAL const f32* RESTRICT node_weights, " if smooth else ""}GLOBAL const u32* RESTRICT constraints,
        ${"GLOBAL const u32* RESTRICT allowed, " if masked else ""}GLOBAL const level_t* RESTRICT levels, GLOBAL node_t* nodes,
        GLOBAL const i64x2* RESTRICT node_sums, GLOBAL const bounds_t* RESTRICT node_bounds,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const u32* RESTRICT fullest,
        GLOBAL i64* pool,${" GLOBAL const u32* RESTRICT feature_kinds," if categories else ""}${" const u32 n_all, GLOBAL const u32* RESTRICT drawn_columns," if gathered else ""}
        ${"GLOBAL const u32* RESTRICT draws, " if drawn or noisy else ""}${"GLOBAL const f32* RESTRICT noise, GLOBAL f32* RESTRICT noisy_ranks, " if noisy else ""}GLOBAL candidate_t* RESTRICT candidates) {
    LOCAL_ARRAY(i64, shared, ${2 * wg_size});
    LOCAL_ARRAY(i64, missing, 2);
    ${"LOCAL_ARRAY(f32, known, 1);" if many else ""}
    LOCAL_ARRAY(f32, best_hi, ${wg_size});
    LOCAL_ARRAY(f32, best_lo, ${wg_size});
    LOCAL_ARRAY(u32, best_key, ${wg_size});
% if not monotone:
    (void)constraints; (void)node_bounds;
% endif
    const u32 ${place} = first_feature + GROUP_ID;
    const u32 first = levels[depth].first, count = levels[depth].count;
${own_place() if gathered else own_feature()}    parent_t parent;
    const u32 each = (count + N_GROUPS_Y - 1) / N_GROUPS_Y, begin = GROUP_ID_Y * each;
    const u32 n_own = begin < count ? (begin + each < count ? each : count - begin) : 0;
    /* a compiler may divide in groups without nodes, too, and take the divisor's not being 0 for granted */
    u32 tree = NO_NODE, index = begin + ${place} % (n_own ? n_own : 1);
    for (u32 k = 0; k < n_own; k++, index = index + 1 < begin + n_own ? index + 1 : begin) {
        GLOBAL node_t* node = &nodes[first + index];
        if (node->tree != tree) { /* a group's nodes have few trees */
            tree = node->tree;
            read_tree(&parent, scale + tree, reg_lambda, reg_alpha, max_delta_step, min_child_weight);
${feature_of_tree() if gathered else ""}        }
        read_node(&parent, node_sums[first + index]${", node_bounds[first + index]" if monotone else ""});
% if smooth:
        parent.smoothing = smoothing_below(path_smooth, scale + tree, node, node_sums[first + index], node_weights, parent.rule);
        parent.smoothing.bits = parent.least.bits; /* one value in one register */
% endif
        const int subtract = node->sibling_slot >= 0;
        GLOBAL candidate_t* out = &candidates[(u64)index * n_features + ${place}];
        GLOBAL i64* cells = pool + 2 * ((u64)node->slot * n_codes + offset);
        GLOBAL const i64* sibling = subtract
            ? pool + 2 * ((u64)node->sibling_slot * n_codes + offset) : cells;

        sum_run(cells, sibling, subtract, &run);
        if (LOCAL_ID == 0) {
            sum_missing(cells + 2 * n_bins, sibling + 2 * n_bins, subtract, has_missing, missing);
            ${"known[0] = as_f32(atomic_max_global_u32(&node->gain, 0u));" if many else ""}
        }
        BARRIER();
        group_scan(run.left_g, run.left_h, shared, &run.left_g, &run.full_g, &run.left_h, &run.full_h);
        sum_fullest(&run, &parent, n_bins, missing);
% if frugal:
        parent.sums = shared;
% endif

        const u32 end = ${end};
% if noisy:
        parent.bits = draws[(u64)index * ${n_all} + feature];
        parent.noise = noise[node->tree];
% endif
        search(cells, run, &parent, end, ${"constraints[feature], " if monotone else ""}${"known[0]" if many else "0.0f"}, node, feature, out, best_hi, best_lo, best_key${only});
    }
}
