## pairs_of_nodes: histograms and borders of two siblings together, for one work-item; `whole_trees` imports it
##
##   parent    |cells of a feature|           becomes the larger child's histogram
##   smaller   |from rows         |
##   larger    |parent - smaller  |           subtracted, summed up and scored while it is in the cache
##
##   borders   |0 .. 15|16 .. 31|..           rough scores in vectors; a run of 16 is looked at again only if
##                                            its best comes near the best of the node so far

<%namespace name="rough_scores" file="rough_scores.cl.mako"/>
<%def name="histograms(code)">
#define MOST_CODES 257   /* of a feature: bins, and missing values */
#define AT_ONCE 4        /* features whose histograms are built together: they fit a core's first cache */
#define MOST_FEATURES 16 /* of a task */

typedef struct {
    u32 n_rows, n_features, n_codes;
    GLOBAL const u32* feature_offset;
    GLOBAL const u32* feature_bins;
    GLOBAL const ${code}* codes; /* by feature */
    GLOBAL const i32x2* quanta;
    GLOBAL const i32x2* high_words;
} data_t;

/* Features of a task: few enough that all groups have some, and many enough to share a node's best. */
FN u32 features_of_task(const u32 n_features, const u32 n_pairs, const u32 n_groups) {
    const u32 share = (u32)((u64)n_features * n_pairs / (4 * n_groups)) / 2 * 2;
    const u32 most = n_features < MOST_FEATURES ? n_features : MOST_FEATURES;
    return share < 2 ? 2 : (share > most ? most : share);
}

% for n in (4, 2, 1):
/* Build the histograms of ${n} feature${"s, whose cells are neighbours," if n > 1 else ""} from a node's rows. */
FN void build_${n}(const data_t* data, const u32 feature, GLOBAL const node_t* node, GLOBAL const u32* rows,
              const u32 wide, GLOBAL i64x2* cells) {
    const u32 first = data->feature_offset[feature], n_cells = data->feature_offset[feature + ${n}] - first;
    for (u32 cell = 0; cell < n_cells; cell++) cells[cell] = MAKE_I64X2(0, 0);
% for k in range(n):
    GLOBAL const ${code}* codes_${k} = data->codes + (u64)(feature + ${k}) * data->n_rows;
    GLOBAL i64x2* cells_${k} = cells + (data->feature_offset[feature + ${k}] - first);
% endfor
    const u32 begin = node->begin, end = begin + node->count, in_order = node->in_order;
    GLOBAL const i32x2* quanta = data->quanta + (u64)node->tree * data->n_rows;
    GLOBAL const i32x2* high_words = data->high_words + (wide ? (u64)node->tree * data->n_rows : 0);
    for (u32 at = begin; at < end; at++) {
        const u32 row = in_order ? at - begin : rows[at];
        const i32x2 low = quanta[row];
        i64x2 pair = MAKE_I64X2(low.x, low.y);
        if (wide) {
            const i32x2 high = high_words[row];
            pair = ADD_I64X2(pair, MAKE_I64X2((i64)high.x << 32, (i64)high.y << 32));
        }
% for k in range(n):
        cells_${k}[codes_${k}[row]] = ADD_I64X2(cells_${k}[codes_${k}[row]], pair);
% endfor
    }
}

% endfor
</%def>

<%def name="borders(clipped)">
/* A run of borders that is scored in vectors; a feature has at most 16 runs. */
#define RUN 16
#define N_RUNS 16
#define NEVER (-1) /* the bits of no score, and less than any score's */

${rough_scores.rough(False, clipped)}
/* One node: what its borders are scored with, and the best split so far. */
typedef struct {
    i64 node_g, node_h;
    i64 missing_g, missing_h;
    i64 least;                /* Hessian of a child */
    rule_t rule;
    best_t best;
    f32 top;                  /* the best rough score */
    f32 waiting;              /* a rough score that waits for its exact one */
    i64 waiting_g, waiting_h;
    u32 waiting_at;
} search_t;

/* Sums of bins up to each border; the first entry is 0. */
typedef struct { i64 g[RUN * N_RUNS + 1]; i64 h[RUN * N_RUNS + 1]; } sums_t;

FN search_t begin_search(GLOBAL const node_t* node, GLOBAL const scale_t* scale, const f32 reg_lambda,
                         const f32 max_delta_step, const f32 min_child_weight) {
    search_t search;
    search.node_g = node->sum_g;
    search.node_h = node->sum_h;
    search.missing_g = search.missing_h = 0;
    search.least = to_quanta(min_child_weight, scale->h - scale->weight_shift);
    search.rule = make_rule(scale, reg_lambda, 0.0f, max_delta_step);
    search.best = no_split();
    search.top = 0.0f;
    search.waiting = -1.0f;
    search.waiting_g = search.waiting_h = 0;
    search.waiting_at = NO_KEY;
    return search;
}

/* Rough scores of a run, as integers that order alike; returns the largest. */
FN i32 score_run(const i64* sum_g, const i64* sum_h, const i64 more_g, const i64 more_h,
                 const search_t* search, i32* bits) {
    const i64 node_g = search->node_g, node_h = search->node_h, least = search->least;
    const rule_t rule = search->rule;
    i32 most = NEVER;
    for (u32 k = 0; k < RUN; k++) {
        const i64 g = sum_g[k + 1] + more_g, h = sum_h[k + 1] + more_h;
        /* A bin without rows has the same rows behind it as the bin before. */
        const int allowed = (sum_h[k + 1] != sum_h[k]) & (node_h - h > 0) & (h >= least) & (node_h - h >= least);
        const f32 s = rough(g, h, rule) + rough(node_g - g, node_h - h, rule);
        bits[k] = allowed ? (i32)as_u32(s) : NEVER;
    }
    for (u32 k = 0; k < RUN; k++) most = bits[k] > most ? bits[k] : most;
    return most;
}

/* Give a border with these rough bits its exact score, unless that cannot be the best. */
FN void look_closer(const i32 bits, const i64 g, const i64 h, const u32 at, search_t* search) {
    const f32 near = as_f32((u32)bits);
    if (bits == NEVER || near * MORE < search->top) return;
    if (near > search->waiting * MORE) { /* what waits cannot be the best */
        search->waiting = near;
        search->waiting_g = g;
        search->waiting_h = h;
        search->waiting_at = at;
        return;
    }
    consider(&search->best, g, h, at, search->node_g, search->node_h, search->rule);
}

/* Search a feature's borders, whose first key is `key`. */
FN void search_borders(const sums_t* sums, const u32 n_bins, const u32 key, search_t* search) {
    i32 bits[RUN * N_RUNS], most[N_RUNS];
    const u32 n_runs = (n_bins + RUN - 1) / RUN;
    for (u32 direction = 0; direction < (search->missing_h > 0 ? 2u : 1u); direction++) {
        const i64 more_g = direction ? search->missing_g : 0, more_h = direction ? search->missing_h : 0;
        i32 top = NEVER;
        for (u32 run = 0; run < n_runs; run++) {
            const u32 at = run * RUN;
            most[run] = score_run(sums->g + at, sums->h + at, more_g, more_h, search, bits + at);
            top = most[run] > top ? most[run] : top;
        }
        if (top == NEVER) continue;
        if (as_f32((u32)top) > search->top) search->top = as_f32((u32)top);
        for (u32 run = 0; run < n_runs; run++) {
            if (most[run] == NEVER || as_f32((u32)most[run]) * MORE < search->top) continue;
            for (u32 at = run * RUN; at < (run + 1) * RUN; at++)
                look_closer(bits[at], sums->g[at + 1] + more_g, sums->h[at + 1] + more_h,
                            key + 2 * at + direction, search);
        }
    }
}

/* Write the best split of a node among a task's features. Keys have 10 bits for border and direction. */
FN void end_search(search_t* search, GLOBAL candidate_t* out) {
    if (search->waiting >= 0.0f)
        consider(&search->best, search->waiting_g, search->waiting_h, search->waiting_at,
                 search->node_g, search->node_h, search->rule);
    best_t best = search->best;
    const u32 key = best.at;
    best.at = key % 1024;
    write_candidate(out, key / 1024, best);
}

/* Sums behind the last bin, up to the end of its run: no borders. */
FN void end_sums(sums_t* sums, const u32 n_bins) {
    for (u32 bin = n_bins; bin % RUN; bin++) {
        sums->g[bin + 1] = sums->g[n_bins];
        sums->h[bin + 1] = sums->h[n_bins];
    }
}

/* Sum up a root's bins; the code after them is that of missing values, if there are any. */
FN void sum_up(GLOBAL const i64x2* cells, const u32 n_bins, const u32 n_codes, sums_t* sums, search_t* search) {
    i64x2 sum = MAKE_I64X2(0, 0);
    sums->g[0] = sums->h[0] = 0;
    for (u32 bin = 0; bin < n_bins; bin++) {
        sum = ADD_I64X2(sum, cells[bin]);
        sums->g[bin + 1] = sum.x;
        sums->h[bin + 1] = sum.y;
    }
    end_sums(sums, n_bins);
    search->missing_g = n_codes > n_bins ? cells[n_bins].x : 0;
    search->missing_h = n_codes > n_bins ? cells[n_bins].y : 0;
}

/* Sum up the bins of two siblings; the parent's histogram becomes the larger one's, unless none is kept. */
FN void sum_up_pair(GLOBAL const i64x2* cells, GLOBAL i64x2* parent, const u32 n_bins, const u32 n_codes,
                    const u32 keeps, sums_t* sums, sums_t* other_sums, search_t* search, search_t* other) {
    i64x2 sum = MAKE_I64X2(0, 0), other_sum = sum, last = sum, other_last = sum;
    sums->g[0] = sums->h[0] = other_sums->g[0] = other_sums->h[0] = 0;
    for (u32 bin = 0; bin < n_bins; bin++) {
        const i64x2 own = cells[bin], rest = SUB_I64X2(parent[bin], own);
        if (keeps) parent[bin] = rest;
        sum = ADD_I64X2(sum, own);
        other_sum = ADD_I64X2(other_sum, rest);
        sums->g[bin + 1] = sum.x;
        sums->h[bin + 1] = sum.y;
        other_sums->g[bin + 1] = other_sum.x;
        other_sums->h[bin + 1] = other_sum.y;
    }
    end_sums(sums, n_bins);
    end_sums(other_sums, n_bins);
    if (n_codes > n_bins) {
        last = cells[n_bins];
        other_last = SUB_I64X2(parent[n_bins], last);
        if (keeps) parent[n_bins] = other_last;
    }
    search->missing_g = last.x;
    search->missing_h = last.y;
    other->missing_g = other_last.x;
    other->missing_h = other_last.y;
}

/* Search the splits of two siblings, or of a root, by the features begin .. end - 1. */
FN void search_pair(const data_t* data, const u32 depth, const u32 begin, const u32 end, const u32 last,
                    GLOBAL const node_t* nodes, GLOBAL const scale_t* scales, const f32 reg_lambda,
                    const f32 max_delta_step, const f32 min_child_weight, GLOBAL const u32* even_rows,
                    GLOBAL const u32* odd_rows, GLOBAL i64x2* pool, GLOBAL i64x2* scratch,
                    GLOBAL candidate_t* candidates, const u32 n_each) {
    const u32 small = nodes[0].sibling_slot >= 0;
    GLOBAL const node_t* node = nodes + small;
    GLOBAL const node_t* sibling = nodes + (depth ? 1 - small : 0);
    GLOBAL const scale_t* scale = scales + node->tree;
    GLOBAL const u32* rows = depth % 2 ? odd_rows : even_rows;
    search_t search = begin_search(node, scale, reg_lambda, max_delta_step, min_child_weight);
    search_t other = begin_search(sibling, scale, reg_lambda, max_delta_step, min_child_weight);
    sums_t sums, other_sums;
    u32 n = 0;
    for (u32 feature = begin; feature < end; feature += n) {
        n = end - feature < AT_ONCE ? end - feature : AT_ONCE;
        GLOBAL i64x2* cells = scratch;
        if (!last) cells = pool + (u64)node->slot * data->n_codes + data->feature_offset[feature];
        if (n == 4) build_4(data, feature, node, rows, scale->wide, cells);
        else if (n >= 2) build_2(data, feature, node, rows, scale->wide, cells);
        else build_1(data, feature, node, rows, scale->wide, cells);
        if (n == 3) n = 2;
        for (u32 k = feature; k < feature + n; k++) {
            const u32 offset = data->feature_offset[k], n_codes = data->feature_offset[k + 1] - offset;
            const u32 n_bins = data->feature_bins[k];
            if (depth) {
                GLOBAL i64x2* parent = pool + (u64)sibling->slot * data->n_codes + offset;
                sum_up_pair(cells, parent, n_bins, n_codes, !last, &sums, &other_sums, &search, &other);
                search_borders(&other_sums, n_bins, 1024 * k, &other);
            } else sum_up(cells, n_bins, n_codes, &sums, &search);
            search_borders(&sums, n_bins, 1024 * k, &search);
            cells += n_codes;
        }
    }
    end_search(&search, candidates + small * n_each);
    if (depth) end_search(&other, candidates + (1 - small) * n_each);
}
</%def>
