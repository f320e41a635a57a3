## search_of_pairs: the best splits of two siblings by some features, for one work-item; `whole_trees` imports it behind
##                  `pairs_of_nodes`
##
##   place     |feature|feature|feature and feature and feature|        with a joint code
##
##   joint     |c0 = 0: rest|c0 = 1: rest|..  cells of several columns, by the code c0 of the first one
##   first     |sum         |sum         |..  its histogram
##   others    |sum of the rests|             their joint cells, and so on
##
##   exclusive |no|f1|f2|f2|f3|               a digit: in a row, no feature or one has another code than its fullest
<%def name="searches_of_pairs(at_once, most_codes, joint, by_row, apart, drawn=False, packs=False)">
/* Two siblings that are searched, or a root. */
typedef struct {
    u32 depth, last; /* of the last level, no histogram is kept */
    GLOBAL i64x2* parent; /* histogram of the parent, then of the larger sibling */
    sums_t sums, other_sums;
    searched_t search, other;
} pair_t;

/* Search the splits of a feature, of which the smaller sibling has these sums. */
FN void search_siblings(const data_t* data, const u32 feature, GLOBAL const i64x2* cells, pair_t* pair) {
    const u32 offset = data->feature_offset[feature], n_codes = data->feature_offset[feature + 1] - offset;
    const u32 n_bins = data->feature_bins[feature];
    if (pair->depth) {
        sum_up_pair(cells, pair->parent + offset, n_bins, n_codes, !pair->last, &pair->sums, &pair->other_sums,
                    &pair->search, &pair->other);
        search_feature(&pair->other_sums, n_bins, feature, &pair->other);
    } else sum_up(cells, n_bins, n_codes, &pair->sums, &pair->search);
    search_feature(&pair->sums, n_bins, feature, &pair->search);
}

% if joint:
#define JOINT_ROWS ${joint} /* of a node, at least: columns of smaller ones are read one by one */

/* Search the splits of the features of a digit, of whose values these are the sums. An exclusive feature's fullest code
   has what its other codes leave. */
FN void search_digit(const data_t* data, const u32 digit, GLOBAL const i64x2* sums, GLOBAL i64x2* own,
                     GLOBAL i64x2* scratch, pair_t* pair) {
    i64x2 all = MAKE_I64X2(0, 0);
    for (u32 cell = 0; cell < data->digit_cells[digit]; cell++) all = ADD_I64X2(all, sums[cell]);
    u32 cell = 1;
    for (u32 at = data->member_begin[digit]; at < data->member_begin[digit + 1]; at++) {
        const u32 feature = data->members[at], offset = data->feature_offset[feature];
        const u32 n_codes = data->feature_offset[feature + 1] - offset, full = data->fullest[feature];
        GLOBAL i64x2* target = pair->last ? scratch : own + offset;
        i64x2 left = all;
        for (u32 code = 0; code < n_codes; code++) {
            if (code == full) continue;
            target[code] = sums[cell];
            left = SUB_I64X2(left, sums[cell++]);
        }
        target[full] = left;
        search_siblings(data, feature, target, pair);
    }
}

/* Search the splits of the features at a place; their joint cells are added up here. Of `scratch`, a digit's sums take
   the first cells, and those of an exclusive feature the next ones. */
FN void search_members(const data_t* data, const u32 place, GLOBAL i64x2* cells, u32 n_cells, GLOBAL i64x2* own,
                       GLOBAL i64x2* scratch, pair_t* pair) {
    for (u32 digit = data->digit_begin[place]; digit < data->digit_begin[place + 1]; digit++) {
        const u32 at = data->member_begin[digit], feature = data->members[at];
        const u32 n_values = data->digit_cells[digit], rest = n_cells / n_values;
        const u32 alone = data->member_begin[digit + 1] - at == 1;
        GLOBAL i64x2* target = pair->last || !alone ? scratch : own + data->feature_offset[feature];
        for (u32 value = 0; value < n_values; value++) {
            GLOBAL const i64x2* some = cells + value * rest;
            i64x2 sum = MAKE_I64X2(0, 0);
            for (u32 cell = 0; cell < rest; cell++) {
                sum = ADD_I64X2(sum, some[cell]);
                if (value) cells[cell] = ADD_I64X2(cells[cell], some[cell]);
            }
            target[value] = sum;
        }
        n_cells = rest;
        if (alone) search_siblings(data, feature, target, pair);
        else search_digit(data, digit, target, own, scratch + ${most_codes}, pair);
    }
}

% endif
% if by_row:
/* Places of a task, so that units that work side by side end early. A row takes the time of its additions, and of ROW
   more: 100 k x 28, 2 units, 10.6 ms a tree, and 14.5 where roots and their children were read 2 places at a time. */
#define ROW 3
FN u32 places_of_task(const u32 n_places, const u32 n_pairs, const u32 n_units) {
    u32 found = 0, least = 0;
    for (u32 each = ${by_row}; each > 1; each /= 2) {
        const u32 n_tasks = (n_places + each - 1) / each * n_pairs, widest = each < n_places ? each : n_places;
        const u32 cost = (n_tasks + n_units - 1) / n_units * (widest + ROW);
        if (!found || cost < least) {
            found = each;
            least = cost;
        }
    }
    return found;
}

/* Search the splits of the features at a place, from its cells. */
FN void search_place(const data_t* data, const u32 place, GLOBAL i64x2* cells, GLOBAL i64x2* own,
                     GLOBAL i64x2* scratch, pair_t* pair) {
% if joint:
    if (place < data->n_joint) {
        search_members(data, place, cells, data->place_cells[place], own, scratch, pair);
        return;
    }
    const u32 feature = data->members[data->member_begin[data->digit_begin[place]]];
% else:
    const u32 feature = place;
    (void)scratch;
% endif
    const u32 offset = data->feature_offset[feature], n_codes = data->feature_offset[feature + 1] - offset;
    if (!pair->last) for (u32 code = 0; code < n_codes; code++) own[offset + code] = cells[code];
    search_siblings(data, feature, cells, pair);
}

<% steps = [n for n in (16, 12, 8, 4, 2, 1) if n <= by_row] %>\
/* Search the splits of two siblings, or of a root, by the places begin .. end - 1, which are read row by row. Where no
   function adds as many as are left, the next larger one adds codes of padding, too. */
FN void search_by_row(const data_t* data, const u32 begin, const u32 end, GLOBAL const node_t* node,
                      GLOBAL const u32* rows, const u32 wide, GLOBAL i64x2* own, GLOBAL i64x2* scratch, pair_t* pair) {
    u32 n = 0;
    for (u32 place = begin; place < end; place += n) {
        const u32 left = end - place;
        n = left < ${by_row} ? left : ${by_row};
        for (u32 k = 0; k < n; k++) {
            const u32 n_cells = cells_of(data, place + k);
            for (u32 cell = 0; cell < n_cells; cell++) scratch[k * ${apart} + cell] = MAKE_I64X2(0, 0);
        }
% if packs:
        if (wide || !pack(data, place, n, node, rows, scratch)) {
% endif
% for n, less in zip(steps, [*steps[1:], 0]):
        ${"else " * (n < by_row)}${f"if (n > {less}) " * (n > 1)}add_${n}(data, place, node, rows, wide, scratch);
% endfor
% if packs:
        }
% endif
        for (u32 k = 0; k < n; k++)
            search_place(data, place + k, scratch + k * ${apart}, own, scratch + ${by_row * apart}, pair);
    }
}

% endif
% if joint or not by_row:
/* The same by features begin .. end - 1, or of the tree's: they are read column by column. */
FN void search_by_column(const data_t* data, const u32 begin, const u32 end, GLOBAL const node_t* node,
                         GLOBAL const u32* rows, const u32 wide, GLOBAL i64x2* own, GLOBAL i64x2* scratch,
                         pair_t* pair) {
    u32 n = 0;
    for (u32 place = begin; place < end; place += n) {
        n = end - place < ${at_once} ? end - place : ${at_once};
        if (n == 3) n = 2;
        column_t columns[${at_once}];
        u32 features[${at_once}];
        for (u32 k = 0; k < n; k++) {
            features[k] = ${"data->members[place + k]" if joint else "feature_at(data, node->tree, place + k)"};
            columns[k] = column_of(data, features[k], pair->last ? scratch + k * ${most_codes} : own + data->feature_offset[features[k]]);
        }
        if (n == ${at_once}) build_${at_once}(data, columns, node, rows, wide);
        else if (n == 2) build_2(data, columns, node, rows, wide);
        else build_1(data, columns, node, rows, wide);
        for (u32 k = 0; k < n; k++) search_siblings(data, features[k], columns[k].cells, pair);
    }
}

% endif
/* Search the splits of two siblings, or of a root, by the features at the places begin .. end - 1. */
FN void search_pair(const data_t* ${"all" if drawn and joint else "data"}, const u32 depth, ${"u32 begin, u32 end" if drawn and joint else "const u32 begin, const u32 end"}, const u32 last,
                    GLOBAL const node_t* nodes, GLOBAL const i64x2* node_sums, GLOBAL const scale_t* scales,
                    const f32 reg_lambda, const f32 max_delta_step, const f32 min_child_weight,
                    GLOBAL const u32* even_rows, GLOBAL const u32* odd_rows, GLOBAL i64x2* pool, GLOBAL i64x2* scratch,
                    GLOBAL candidate_t* candidates, const u32 n_each) {
% if drawn and joint:
    const data_t own_data = of_tree(all, nodes[0].tree), *data = &own_data; /* which may have fewer places than others */
    begin = begin < data->n_places ? begin : data->n_places;
    end = end < data->n_places ? end : data->n_places;
% endif
    const u32 small = nodes[0].sibling_slot >= 0, large = depth ? 1 - small : 0;
    GLOBAL const node_t* node = nodes + small;
    GLOBAL const scale_t* scale = scales + node->tree;
    GLOBAL const u32* rows = depth % 2 ? odd_rows : even_rows;
    pair_t pair;
    pair.depth = depth;
    pair.last = last;
    pair.parent = pool + (u64)nodes[large].slot * data->n_codes;
    pair.search = begin_node(node_sums[small], scale, reg_lambda, max_delta_step, min_child_weight);
    pair.other = begin_node(node_sums[large], scale, reg_lambda, max_delta_step, min_child_weight);
    GLOBAL i64x2* own = pool + (u64)node->slot * data->n_codes;
% if joint:
    if (node->count < JOINT_ROWS)
        search_by_column(data, data->member_begin[data->digit_begin[begin]], data->member_begin[data->digit_begin[end]],
                         node, rows, scale->wide, own, scratch, &pair);
    else
% endif
    ${"search_by_row" if by_row else "search_by_column"}(data, begin, end, node, rows, scale->wide, own, scratch, &pair);
    end_node(&pair.search, candidates + small * n_each);
    if (depth) end_node(&pair.other, candidates + (1 - small) * n_each);
}
</%def>
