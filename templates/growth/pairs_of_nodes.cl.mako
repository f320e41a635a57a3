## pairs_of_nodes: histograms and splits of two siblings together, for one work-item; `whole_trees` imports it, and
##                 `whole_symmetric` the histograms
##
##   parent    |cells of a feature|           becomes the larger child's histogram
##   smaller   |from rows         |
##   larger    |parent - smaller  |           subtracted, summed up and scored while it is in the cache
<%namespace name="places" file="places_of_trees.cl.mako"/>
<%def name="histograms(code, at_once, drawn=False, joint=False, by_row=0, apart=0, prefetch=0, packs=False)">
% if not by_row:
#define MOST_FEATURES 16 /* of a task */

% endif
typedef struct {
    u32 n_rows, n_places, n_codes; /* places: features${" that a tree draws" if drawn else (", or several with a joint code" if joint else "")} */
    GLOBAL const u32* feature_offset;
    GLOBAL const u32* feature_bins;
    GLOBAL const ${code}* codes; /* by feature */
    GLOBAL const i32x2* quanta;
    GLOBAL const i32x2* high_words;
% if drawn and not joint:
    GLOBAL const u32* drawn; /* the features of each tree */
% endif
% if joint:
${places.fields() if drawn else ""}\
    u32 n_joint;                    /* places of several features; they come first */
    GLOBAL const u32* members;      /* features, place after place */
    GLOBAL const u32* member_begin; /* of a digit: one feature, or exclusive ones */
    GLOBAL const u32* digit_begin;  /* of a place */
    GLOBAL const u32* digit_cells;
    GLOBAL const u32* place_cells;  /* of a place of several features */
    GLOBAL const u32* fullest;      /* codes of exclusive features that have no cell */
% endif
% if by_row:
    u32 row_codes;                  /* from a row's codes to the next one's, ... */
    u64 block_codes;                /* ... and from those of ${by_row} places to those of the next ones */
    GLOBAL const ${code}* by_row;${" GLOBAL u32* run_rows; /* of blocks of places, see `packed_rows`; 0: unknown */" * bool(packs)}
% endif
} data_t;

/* Codes of a column, and the cells of its histogram. */
typedef struct {
    GLOBAL const ${code}* codes;
    GLOBAL i64x2* cells;
    u32 n_codes;
} column_t;

FN column_t column_of(const data_t* data, const u32 feature, GLOBAL i64x2* cells) {
    column_t column;
    column.codes = data->codes + (u64)feature * data->n_rows;
    column.cells = cells;
    column.n_codes = data->feature_offset[feature + 1] - data->feature_offset[feature];
    return column;
}

${places.functions() if drawn and joint else ""}\
/* The feature at a place among those of a tree. */
FN u32 feature_at(const data_t* data, const u32 tree, const u32 place) {
    (void)data; (void)tree;
    return ${"data->drawn[tree * data->n_places + place]" if drawn and not joint else "place"};
}

% if not by_row:
/* Features of a task: few enough that all groups have some, and many enough to share a node's best. */
FN u32 features_of_task(const u32 n_features, const u32 n_pairs, const u32 n_groups) {
    const u32 share = (u32)((u64)n_features * n_pairs / (4 * n_groups)) / 2 * 2;
    const u32 most = n_features < MOST_FEATURES ? n_features : MOST_FEATURES;
    return share < 2 ? 2 : (share > most ? most : share);
}
% endif

% if joint or not by_row:
% for n in (at_once, 2, 1):
/* Build the histograms of ${f"{n} columns of codes" if n > 1 else "a column of codes"}, of so many codes each, from a node's rows. */
FN void build_${n}(const data_t* data, const column_t* columns, GLOBAL const node_t* node, GLOBAL const u32* rows,
              const u32 wide) {
% for k in range(n):
    GLOBAL const ${code}* codes_${k} = columns[${k}].codes;
    GLOBAL i64x2* cells_${k} = columns[${k}].cells;
    const u32 n_${k} = columns[${k}].n_codes;
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
% endif
% if by_row:
/* Cells of a place. */
FN u32 cells_of(const data_t* data, const u32 place) {
% if joint:
    if (place < data->n_joint) return data->place_cells[place];
    const u32 feature = data->members[data->member_begin[data->digit_begin[place]]];
% else:
    const u32 feature = place;
% endif
    return data->feature_offset[feature + 1] - data->feature_offset[feature];
}

% for n in [n for n in (16, 12, 8, 4, 2, 1) if n <= by_row]:
/* Add a node's rows to the cells of ${f"{n} places" if n > 1 else "a place"}, row by row. */
FN void add_${n}(const data_t* data, const u32 place, GLOBAL const node_t* node, GLOBAL const u32* rows, const u32 wide,
              GLOBAL i64x2* cells) {
    GLOBAL const ${code}* codes = data->by_row + place / ${by_row} * data->block_codes + place % ${by_row};
    const u32 begin = node->begin, end = begin + node->count, in_order = node->in_order;
    const u64 stride = data->row_codes;
    GLOBAL const i32x2* quanta = data->quanta + (u64)node->tree * data->n_rows;
    GLOBAL const i32x2* high_words = data->high_words + (wide ? (u64)node->tree * data->n_rows : 0);
    for (u32 at = begin; at < end; at++) {
        const u32 row = in_order ? at - begin : rows[at];
% if prefetch:
        if (!in_order && at + ${prefetch} < end) {
            PREFETCH(codes + rows[at + ${prefetch}] * stride);
            PREFETCH(quanta + rows[at + ${prefetch}]);
        }
% endif
        GLOBAL const ${code}* own = codes + row * stride;
        const i32x2 low = quanta[row];
        i64x2 pair = MAKE_I64X2(low.x, low.y);
        if (wide) {
            const i32x2 high = high_words[row];
            pair = ADD_I64X2(pair, MAKE_I64X2((i64)high.x << 32, (i64)high.y << 32));
        }
% for k in range(n):
        cells[${k * apart} + own[${k}]] = ADD_I64X2(cells[${k * apart} + own[${k}]], pair);
% endfor
    }
}

% endfor
% endif
</%def>

## Sets `data` of a kernel's parameters.
<%def name="read(drawn=False, joint=False, by_row=0, packs=False)">
    data_t data;
    data.n_rows = n_rows;
    data.n_places = n_places;
    data.n_codes = n_codes;
    data.feature_offset = feature_offset;
    data.feature_bins = feature_bins;
    data.codes = codes;
    data.quanta = quanta;
    data.high_words = high_words;
% if drawn and not joint:
    data.drawn = drawn_columns;
% endif
% if joint:
${places.read() if drawn else ""}\
    data.n_joint = n_joint;
    data.members = members;
    data.member_begin = member_begin;
    data.digit_begin = digit_begin;
    data.digit_cells = digit_cells;
    data.place_cells = place_cells;
    data.fullest = fullest;
% endif
% if by_row:
    data.row_codes = row_codes;
    data.block_codes = block_codes;
    data.by_row = by_row;${" data.run_rows = run_rows;" * bool(packs)}
% endif
</%def>

<%def name="searches(copies=False)">
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

<% copy = ", GLOBAL i64x2* copy" * copies %>\
/* Sum up a root's bins; the code after them is that of missing values, if there are any.${" The cells are copied." * copies} */
FN void sum_up(GLOBAL const i64x2* cells, const u32 n_bins, const u32 n_codes, sums_t* sums, searched_t* search${copy}) {
    i64x2 sum = MAKE_I64X2(0, 0);
    sums->h[0] = 0;
    for (u32 bin = 0; bin < n_bins; bin++) {
        sum = ADD_I64X2(sum, cells[bin]);${" copy[bin] = cells[bin];" * copies}
        sums->g[bin] = sum.x;
        sums->h[bin + 1] = sum.y;
    }
    search->missing_g = n_codes > n_bins ? cells[n_bins].x : 0;${" if (n_codes > n_bins) copy[n_bins] = cells[n_bins];" * copies}
    search->missing_h = n_codes > n_bins ? cells[n_bins].y : 0;
}

/* Sum up the bins of two siblings; the parent's histogram becomes the larger one's, unless none is kept.${" The smaller one's cells are copied, unless there is no place." * copies} */
FN void sum_up_pair(GLOBAL const i64x2* cells, GLOBAL i64x2* parent, const u32 n_bins, const u32 n_codes,
                    const u32 keeps, sums_t* sums, sums_t* other_sums, searched_t* search, searched_t* other${copy}) {
    i64x2 sum = MAKE_I64X2(0, 0), other_sum = sum, last = sum, other_last = sum;
    sums->h[0] = other_sums->h[0] = 0;
    for (u32 bin = 0; bin < n_bins; bin++) {
        const i64x2 own = cells[bin], rest = SUB_I64X2(parent[bin], own);
        if (keeps) parent[bin] = rest;${" if (copy) copy[bin] = own;" * copies}
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
        if (keeps) parent[n_bins] = other_last;${" if (copy) copy[n_bins] = last;" * copies}
    }
    search->missing_g = last.x;
    search->missing_h = last.y;
    other->missing_g = other_last.x;
    other->missing_h = other_last.y;
}
</%def>
