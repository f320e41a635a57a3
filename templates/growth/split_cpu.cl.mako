## split_cpu: as `split`, with one work-item a group, which scores many borders in vectors
## uses: portable_math structs gain
## uses if not counted: children
## uses if counted: counted_children
## uses if smooth: smoothing
## uses if drawn: draws
## uses if noisy: random portable_log noise
## uses if doubles: double_scores
##
##   bins     |0 .. 255|256 .. 511|..   runs of borders are scored at a time, see `runs_of_borders`
##
## params: wg_size (1); run, bins of a run, a multiple of 16; monotone, masked, categories as in `split`;
##         clipped, weights are, by max_delta_step; shrunk, gradients are, by alpha; sparse, most bins have
##         no rows of a node: scores are of those that have, and closed features are left out;
##         doubles, the device has them, and neither `careful` nor `clipped` holds; counted, drawn, noisy, smooth as in
##         `split`; gathered, features are those that a tree has drawn of `n_all`, whose histograms are equally wide;
##         opened, nodes have histograms of some features alone, which `opened` marks
<%page args="wg_size, run, monotone, masked, clipped, shrunk, sparse, categories, doubles, counted, drawn, noisy, gathered, smooth, opened"/>
<%
    careful = monotone or shrunk or noisy
    searched = " && ".join(["!feature_kinds[id]"] * categories + ["searched"] * masked)
    n_searched = f"{searched} ? n_bins : 0" if searched else "n_bins"
    n_all = "n_all" if gathered else "n_features"
    only = f", drawn_place(draws[(u64)index * {n_all} + id], n_own - 1)" if drawn else ""
    constraint = (", constraints[id]" if monotone else ", 0") if careful else ""
%>
<%namespace name="candidates" file="candidates.cl.mako"/>
<%namespace name="runs" file="runs_of_borders.cl.mako"/>
<%namespace name="closed_features" file="closed_features.cl.mako"/>
${candidates.consider(monotone, noisy, smooth)}
% if sparse:
${closed_features.functions()}
% endif
% if not (drawn or smooth):
${runs.functions(run, monotone, careful, clipped, sparse, doubles, noisy=noisy)}
% endif

/* A feature of a node: sums of its fullest code, which may be missing from the histogram, and of missing values. */
typedef struct { i64 full_g, full_h, missing_g, missing_h; } feature_t;

FN feature_t sum_apart(GLOBAL const i64* cells, const u32 n_codes, const u32 n_bins, const u32 full,
                       const parent_t* node) {
    i64 all_g = 0, all_h = 0; /* added: Intel's runtime 2025.2 subtracts such a row wrongly */
    for (u32 code = 0; code < n_codes; code++) {
        all_g += cells[2 * code];
        all_h += cells[2 * code + 1];
    }
    feature_t feature;
    feature.full_g = node->g - (all_g - cells[2 * full]);
    feature.full_h = node->h - (all_h - cells[2 * full + 1]);
    feature.missing_g = feature.missing_h = 0;
    if (full == n_bins) {
        feature.missing_g = feature.full_g;
        feature.missing_h = feature.full_h;
    } else if (n_codes > n_bins) {
        feature.missing_g = cells[2 * n_bins];
        feature.missing_h = cells[2 * n_bins + 1];
    }
    return feature;
}

/* Find the best split of a node's feature. */
FN best_t search_borders(GLOBAL const i64* cells, const u32 n_bins, const u32 full, const feature_t* feature,
                         const parent_t* node${", const u32 constraint" if careful else ""}${", const u32 only" if drawn else ""}) {
% if smooth:
    best_t best = no_split();
    i64 left_g = 0, left_h = 0;
    for (u32 bin = 0; bin < n_bins; bin++) {
        const i64 own_h = bin == full ? feature->full_h : cells[2 * bin + 1];
        left_g += bin == full ? feature->full_g : cells[2 * bin];
        left_h += own_h;
        if (${"bin != only" if drawn else "own_h == 0"}) continue;
        i64 g = left_g, h = left_h;
        for (u32 direction = 0; direction < (feature->missing_h > 0 ? 2u : 1u); direction++) {
            g += direction ? feature->missing_g : 0;
            h += direction ? feature->missing_h : 0;
            if (may_split(g, h, node->g - g, node->h - h, node->least))
                consider(&best, g, h, 2 * bin + direction, node${", constraint" if monotone else ""});
        }
    }
    ${"(void)constraint;" if careful and not monotone else ""}
    return best;
% elif drawn:
    best_t best = no_split();
    i64 g = 0, h = 0;
    for (u32 bin = 0; bin <= only && only < n_bins; bin++) {
        g += bin == full ? feature->full_g : cells[2 * bin];
        h += bin == full ? feature->full_h : cells[2 * bin + 1];
    }
    for (u32 direction = 0; direction < (feature->missing_h > 0 ? 2u : 1u); direction++) {
        g += direction ? feature->missing_g : 0;
        h += direction ? feature->missing_h : 0;
        if (only < n_bins && may_split(g, h, node->g - g, node->h - h, node->least))
            consider(&best, g, h, 2 * only + direction, node${", constraint" if monotone else ""});
    }
    ${"(void)constraint;" if careful and not monotone else ""}
    return best;
% else:
    sums_t sums;
    search_t search = begin_search(${"node->rule, constraint" if careful else ""});
    i64 left_g = 0, left_h = 0;
    for (u32 start = 0; start < n_bins; start += RUN) {
        const u32 behind = n_bins - start < RUN ? n_bins : start + RUN;
        u32 n = 0;
        for (u32 bin = start; bin < behind; bin++) {
            sums.own_h[n] = bin == full ? feature->full_h : cells[2 * bin + 1];
            left_g += bin == full ? feature->full_g : cells[2 * bin];
            left_h += sums.own_h[n];
            sums.g[n] = left_g;
            sums.h[n] = left_h;
% if sparse:
            sums.bin[n] = bin;
            n += sums.own_h[n] != 0 ? 1 : 0;
% else:
            n++;
% endif
        }
        search_run(&sums, n, feature->missing_g, feature->missing_h, 2 * start, node, &search);
    }
    return end_search(&search, node);
% endif
}

<%def name="left_out()">\
            write_candidate(out, id, no_split());
% if noisy:
            noisy_ranks[(u64)index * n_features + id] = NO_SCORE;
% endif
            continue;
</%def>\
KERNEL(${wg_size}) find(
        const u32 depth, const u32 first_feature, const u32 n_features, const u32 n_codes,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step,
        const f32 min_child_weight, ${"const f32 path_smooth, GLOBAL const f32* RESTRICT node_weights, " if smooth else ""}GLOBAL const u32* RESTRICT constraints,
        ${"GLOBAL const u32* RESTRICT allowed, " if masked else ""}GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const i64x2* RESTRICT node_sums, GLOBAL const bounds_t* RESTRICT node_bounds,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const u32* RESTRICT fullest,
        GLOBAL i64* pool,${" const u32 open_first, const u32 open_of_tree, const u32 open_words, GLOBAL const u32* RESTRICT opened," if opened else ""}${" GLOBAL u8* closed," if sparse else ""}${" const u32 n_all, GLOBAL const u32* RESTRICT drawn_columns," if gathered else ""}
% if categories:
        GLOBAL const u32* RESTRICT feature_kinds,
% endif
        ${"GLOBAL const u32* RESTRICT draws, " if drawn or noisy else ""}${"GLOBAL const f32* RESTRICT noise, GLOBAL f32* RESTRICT noisy_ranks, " if noisy else ""}GLOBAL candidate_t* RESTRICT candidates) {
% if not monotone:
    (void)constraints; (void)node_bounds;
% endif
    const u32 place = first_feature + GROUP_ID;
    const u32 first = levels[depth].first, count = levels[depth].count;
    for (u32 index = GROUP_ID_Y; index < count; index += N_GROUPS_Y) {
        GLOBAL const node_t* node = &nodes[first + index];
        const u32 id = ${"drawn_columns[node->tree * n_features + place]" if gathered else "place"};
        const u32 n_bins = feature_bins[id], full = fullest[id];
        const u32 offset = ${"place * (n_codes / n_features)" if gathered else "feature_offset[id]"};
        const u32 n_own = feature_offset[id + 1] - feature_offset[id]; /* codes: bins, and perhaps missing */
        GLOBAL const scale_t* own_scale = scale + node->tree;
        parent_t parent;
        read_tree(&parent, own_scale, reg_lambda, reg_alpha, max_delta_step, min_child_weight);
        read_node(&parent, node_sums[first + index]${", node_bounds[first + index]" if monotone else ""});
% if smooth:
        parent.smoothing = smoothing_below(path_smooth, own_scale, node, node_sums[first + index], node_weights, parent.rule);
% endif
        GLOBAL i64* cells = pool + 2 * ((u64)node->slot * n_codes + offset);
        GLOBAL candidate_t* out = &candidates[(u64)index * n_features + place];
% if sparse:
        GLOBAL u8* mark = closed + (u64)(first + index) * n_features + id;
        *mark = closed_in_parent(node, closed + id, n_features);
        if (*mark) {
${left_out()}\
        }
% endif
% if opened:
        const u32 row = open_first + (open_of_tree ? node->tree : index);
        if (!((opened[(u64)row * open_words + id / 32] >> id % 32) & 1)) {
${left_out()}\
        }
% endif
        if (node->sibling_slot >= 0) {
            GLOBAL const i64* sibling = pool + 2 * ((u64)node->sibling_slot * n_codes + offset);
            for (u32 k = 0; k < 2 * n_own; k++) cells[k] -= sibling[k];
        }
        const feature_t feature = sum_apart(cells, n_own, n_bins, full, &parent);
% if sparse:
        if (!may_have_borders(parent.h - feature.missing_h, parent.h, parent.least.h)) {
            *mark = 1;
${left_out()}\
        }
% endif
% if masked:
        const u32 n_words = (${n_all} + 31) / 32;
        const u32 searched = (allowed[(u64)index * n_words + id / 32] >> id % 32) & 1;
% endif
% if noisy:
        parent.bits = draws[(u64)index * ${n_all} + id];
        parent.noise = noise[node->tree];
% endif
        const best_t best = search_borders(cells, ${n_searched}, full, &feature, &parent${constraint}${only});
        write_candidate(out, id, best);
% if noisy:
        noisy_ranks[(u64)index * n_features + place] = best.rank;
% endif
    }
}
