## pairs_of_nodes: histograms and splits of two siblings together, for one work-item; `whole_trees` imports it, and
##                 `whole_symmetric` the histograms
##
##   parent    |cells of a feature|           becomes the larger child's histogram
##   smaller   |from rows         |
##   larger    |parent - smaller  |           subtracted, summed up and scored while it is in the cache

<%def name="histograms(code, at_once, drawn)">
#define MOST_FEATURES 16 /* of a task */

typedef struct {
    u32 n_rows, n_places, n_codes; /* places: features${" that a tree draws" if drawn else ""} */
    GLOBAL const u32* feature_offset;
    GLOBAL const u32* feature_bins;
    GLOBAL const ${code}* codes; /* by feature */
    GLOBAL const i32x2* quanta;
    GLOBAL const i32x2* high_words;
% if drawn:
    GLOBAL const u32* drawn; /* the features of each tree */
% endif
} data_t;

/* The feature at a place among those of a tree. */
FN u32 feature_at(const data_t* data, const u32 tree, const u32 place) {
% if drawn:
    return data->drawn[tree * data->n_places + place];
% else:
    (void)data; (void)tree;
    return place;
% endif
}

/* Features of a task: few enough that all groups have some, and many enough to share a node's best. */
FN u32 features_of_task(const u32 n_features, const u32 n_pairs, const u32 n_groups) {
    const u32 share = (u32)((u64)n_features * n_pairs / (4 * n_groups)) / 2 * 2;
    const u32 most = n_features < MOST_FEATURES ? n_features : MOST_FEATURES;
    return share < 2 ? 2 : (share > most ? most : share);
}

% for n in (at_once, 2, 1):
/* Build the histograms of ${f"{n} features, at places that follow each other," if n > 1 else "a feature"} from a node's rows. */
FN void build_${n}(const data_t* data, const u32 place, GLOBAL const node_t* node, GLOBAL const u32* rows,
              const u32 wide, GLOBAL i64x2* const* cells) {
% for k in range(n):
    const u32 feature_${k} = feature_at(data, node->tree, place + ${k});
    GLOBAL const ${code}* codes_${k} = data->codes + (u64)feature_${k} * data->n_rows;
    GLOBAL i64x2* cells_${k} = cells[${k}];
    const u32 n_${k} = data->feature_offset[feature_${k} + 1] - data->feature_offset[feature_${k}];
    GLOBAL i64* words_${k} = (GLOBAL i64*)cells_${k};
    for (u32 word = 0; word < 2 * n_${k}; word++) words_${k}[word] = 0;
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

## Sets `data` of a kernel's parameters.
<%def name="read(drawn)">
    data_t data;
    data.n_rows = n_rows;
    data.n_places = n_places;
    data.n_codes = n_codes;
    data.feature_offset = feature_offset;
    data.feature_bins = feature_bins;
    data.codes = codes;
    data.quanta = quanta;
    data.high_words = high_words;
    ${"data.drawn = drawn_columns;" if drawn else ""}
</%def>

<%def name="searches()">
/* One node: what its borders are scored with, sums of its missing rows, and its search of all features of a task. */
typedef struct {
    parent_t parent;
    i64 missing_g, missing_h;
    search_t search;
} searched_t;

FN searched_t begin_node(const i64x2 sums, GLOBAL const scale_t* scale, const f32 reg_lambda,
                         const f32 max_delta_step, const f32 min_child_weight) {
    searched_t own;
    read_tree(&own.parent, scale, reg_lambda, 0.0f, max_delta_step, min_child_weight);
    read_node(&own.parent, sums);
    own.missing_g = own.missing_h = 0;
    own.search = begin_search();
    return own;
}

/* Search a feature's borders. Keys have 10 bits for border and direction. */
FN void search_feature(sums_t* sums, const u32 n_bins, const u32 feature, searched_t* own) {
    search_run(sums, n_bins, own->missing_g, own->missing_h, 1024 * feature, &own->parent, &own->search);
}

/* Write the best split of a node among a task's features. */
FN void end_node(searched_t* own, GLOBAL candidate_t* out) {
    best_t best = end_search(&own->search, &own->parent);
    const u32 key = best.at;
    best.at = key % 1024;
    write_candidate(out, key / 1024, best);
}

/* Sum up a root's bins; the code after them is that of missing values, if there are any. */
FN void sum_up(GLOBAL const i64x2* cells, const u32 n_bins, const u32 n_codes, sums_t* sums, searched_t* search) {
    i64x2 sum = MAKE_I64X2(0, 0);
    sums->h[0] = 0;
    for (u32 bin = 0; bin < n_bins; bin++) {
        sum = ADD_I64X2(sum, cells[bin]);
        sums->g[bin] = sum.x;
        sums->h[bin + 1] = sum.y;
    }
    search->missing_g = n_codes > n_bins ? cells[n_bins].x : 0;
    search->missing_h = n_codes > n_bins ? cells[n_bins].y : 0;
}

/* Sum up the bins of two siblings; the parent's histogram becomes the larger one's, unless none is kept. */
FN void sum_up_pair(GLOBAL const i64x2* cells, GLOBAL i64x2* parent, const u32 n_bins, const u32 n_codes,
                    const u32 keeps, sums_t* sums, sums_t* other_sums, searched_t* search, searched_t* other) {
    i64x2 sum = MAKE_I64X2(0, 0), other_sum = sum, last = sum, other_last = sum;
    sums->h[0] = other_sums->h[0] = 0;
    for (u32 bin = 0; bin < n_bins; bin++) {
        const i64x2 own = cells[bin], rest = SUB_I64X2(parent[bin], own);
        if (keeps) parent[bin] = rest;
        sum = ADD_I64X2(sum, own);
        other_sum = ADD_I64X2(other_sum, rest);
        sums->g[bin] = sum.x;
        sums->h[bin + 1] = sum.y;
        other_sums->g[bin] = other_sum.x;
        other_sums->h[bin + 1] = other_sum.y;
    }
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
</%def>

<%def name="searches_of_pairs(at_once, most_codes)">
/* Search the splits of two siblings, or of a root, by the features at the places begin .. end - 1. */
FN void search_pair(const data_t* data, const u32 depth, const u32 begin, const u32 end, const u32 last,
                    GLOBAL const node_t* nodes, GLOBAL const i64x2* node_sums, GLOBAL const scale_t* scales,
                    const f32 reg_lambda, const f32 max_delta_step, const f32 min_child_weight,
                    GLOBAL const u32* even_rows, GLOBAL const u32* odd_rows, GLOBAL i64x2* pool, GLOBAL i64x2* scratch,
                    GLOBAL candidate_t* candidates, const u32 n_each) {
    const u32 small = nodes[0].sibling_slot >= 0, large = depth ? 1 - small : 0;
    GLOBAL const node_t* node = nodes + small;
    GLOBAL const node_t* sibling = nodes + large;
    GLOBAL const scale_t* scale = scales + node->tree;
    GLOBAL const u32* rows = depth % 2 ? odd_rows : even_rows;
    searched_t search = begin_node(node_sums[small], scale, reg_lambda, max_delta_step, min_child_weight);
    searched_t other = begin_node(node_sums[large], scale, reg_lambda, max_delta_step, min_child_weight);
    sums_t sums, other_sums;
    u32 n = 0;
    GLOBAL i64x2* own = pool + (u64)node->slot * data->n_codes;
    for (u32 place = begin; place < end; place += n) {
        n = end - place < ${at_once} ? end - place : ${at_once};
        if (n == 3) n = 2;
        GLOBAL i64x2* cells[${at_once}];
        for (u32 k = 0; k < n; k++)
            cells[k] = last ? scratch + k * ${most_codes} : own + data->feature_offset[feature_at(data, node->tree, place + k)];
        if (n == ${at_once}) build_${at_once}(data, place, node, rows, scale->wide, cells);
        else if (n == 2) build_2(data, place, node, rows, scale->wide, cells);
        else build_1(data, place, node, rows, scale->wide, cells);
        for (u32 k = 0; k < n; k++) {
            const u32 feature = feature_at(data, node->tree, place + k), offset = data->feature_offset[feature];
            const u32 n_codes = data->feature_offset[feature + 1] - offset, n_bins = data->feature_bins[feature];
            if (depth) {
                GLOBAL i64x2* parent = pool + (u64)sibling->slot * data->n_codes + offset;
                sum_up_pair(cells[k], parent, n_bins, n_codes, !last, &sums, &other_sums, &search, &other);
                search_feature(&other_sums, n_bins, feature, &other);
            } else sum_up(cells[k], n_bins, n_codes, &sums, &search);
            search_feature(&sums, n_bins, feature, &search);
        }
    }
    end_node(&search, candidates + small * n_each);
    if (depth) end_node(&other, candidates + (1 - small) * n_each);
}
</%def>
