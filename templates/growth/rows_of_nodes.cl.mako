## rows_of_nodes: splits of nodes, and moves of their rows, for one work-item; `whole_best_first` imports these defs,
##                behind those of `staged_rows`
##
##   codes of few rows   |17|3|17|90|..   a feature's codes that the rows have are marked, and only these are scored
##   marks               |..1....1..1|

<%def name="few_rows(code, few_rows, most_codes)">
#define FEW ${few_rows}

/* Give a key by the number of a present code its code. */
FN u32 key_of_bin(const u32 at, const u32 feature, const u32* bins) {
    return at / 1024 == feature ? 1024 * feature + 2 * bins[at % 1024 / 2] + at % 2 : at;
}

/* Search a node of few rows by the codes that these have, of the features begin .. end - 1. */
FN void search_few(const data_t* data, const u32 begin, const u32 end, const rows_t* own, searched_t* search) {
    i64x2 cells[${most_codes}], pairs[FEW];
    u64 places[FEW]; /* of a row's codes */
    u32 bins[${most_codes}], marks[${(most_codes + 31) // 32}];
    sums_t sums;
    const u32 n = own->end - own->begin;
    for (u32 i = 0; i < n; i++) {
        const u32 row = own->in_order ? i : own->rows[own->begin + i];
        pairs[i] = pair_of(own, row);
        places[i] = (u64)row * data->row_codes;
    }
    for (u32 code = 0; code < ${most_codes}; code++) cells[code] = MAKE_I64X2(0, 0);
    for (u32 word = 0; word < ${(most_codes + 31) // 32}; word++) marks[word] = 0;
    for (u32 feature = begin; feature < end; feature++) {
        const u32 n_bins = data->feature_bins[feature];
        GLOBAL const ${code}* codes = data->codes + feature;
        for (u32 i = 0; i < n; i++) {
            const u32 code = codes[places[i]];
            marks[code / 32] |= (u32)1 << code % 32;
            cells[code] = ADD_I64X2(cells[code], pairs[i]);
        }
        i64x2 sum = MAKE_I64X2(0, 0);
        u32 n_present = 0;
        sums.h[0] = 0;
        search->missing_g = search->missing_h = 0;
        for (u32 word = 0; word < ${(most_codes + 31) // 32}; word++) {
            u32 mark = marks[word];
            marks[word] = 0;
            for (; mark; mark &= mark - 1) {
                const u32 code = 32 * word + POPCOUNT((mark & (0u - mark)) - 1);
                const i64x2 cell = cells[code];
                cells[code] = MAKE_I64X2(0, 0);
                if (code == n_bins) { /* of missing values */
                    search->missing_g = cell.x;
                    search->missing_h = cell.y;
                    continue;
                }
                sum = ADD_I64X2(sum, cell);
                sums.g[n_present] = sum.x;
                sums.h[n_present + 1] = sum.y;
                bins[n_present++] = code;
            }
        }
        search_feature(&sums, n_present, feature, search);
        search->search.waiting_at = key_of_bin(search->search.waiting_at, feature, bins);
        search->search.best.at = key_of_bin(search->search.best.at, feature, bins);
    }
}

/* Search the splits of two siblings, or of a root, by the features begin .. end - 1; of those that may split. Groups
   have added the rows in a phase, if one is given. */
FN void search_nodes(const data_t* data, GLOBAL const u32* added, const u32 begin, const u32 end, GLOBAL const node_t* nodes, const u32 id,
                     const u32 has_sibling, const u32 splits_first, const u32 splits_second,
                     GLOBAL const i64x2* node_sums, GLOBAL const scale_t* scales, const f32 reg_lambda,
                     const f32 max_delta_step, const f32 min_child_weight, GLOBAL const u32* even_rows,
                     GLOBAL const u32* odd_rows, GLOBAL i64x2* pool, GLOBAL candidate_t* candidates, const u32 n_each) {
    const u32 small = has_sibling && nodes[id].sibling_slot >= 0, large = has_sibling ? 1 - small : 0;
    GLOBAL const node_t* node = nodes + id + small;
    GLOBAL const node_t* sibling = nodes + id + large;
    GLOBAL const scale_t* scale = scales + node->tree;
    const u32 splits_small = small ? splits_second : splits_first, splits_large = large ? splits_second : splits_first;
    const u32 n_rows = has_sibling ? nodes[node->parent].count : node->count;
    searched_t search = begin_node(node_sums[id + small], scale, reg_lambda, max_delta_step, min_child_weight);
    searched_t other = begin_node(node_sums[id + large], scale, reg_lambda, max_delta_step, min_child_weight);
    const rows_t rows = rows_of(data, node, scales, even_rows, odd_rows);
    if (n_rows <= FEW) {
        const rows_t more = rows_of(data, sibling, scales, even_rows, odd_rows);
        if (splits_small) search_few(data, begin, end, &rows, &search);
        if (has_sibling && splits_large) search_few(data, begin, end, &more, &other);
    } else if (splits_small || splits_large) {
        sums_t sums, other_sums;
        GLOBAL i64x2* cells = added ? sum_of_parts(data, added, begin, end) : cells_of(data, GROUP_ID);
        if (!added) {
            clear(cells, end - begin);
            add_rows(data, begin, end - begin, &rows, rows.begin, rows.end);
        }
        for (u32 feature = begin; feature < end; feature++) {
            const u32 offset = data->feature_offset[feature], n_codes = data->feature_offset[feature + 1] - offset;
            const u32 n_bins = data->feature_bins[feature];
            GLOBAL i64x2* own = cells + (feature - begin) * ${most_codes};
            GLOBAL i64x2* kept = pool + (u64)node->slot * data->n_codes + offset;
            if (has_sibling) {
                GLOBAL i64x2* parent = pool + (u64)sibling->slot * data->n_codes + offset;
                sum_up_pair(own, parent, n_bins, n_codes, sibling->count > FEW, &sums, &other_sums, &search, &other,
                            node->count > FEW ? kept : 0);
                if (splits_large) search_feature(&other_sums, n_bins, feature, &other);
            } else sum_up(own, n_bins, n_codes, &sums, &search, kept);
            if (splits_small) search_feature(&sums, n_bins, feature, &search);
        }
    }
    end_node(&search, candidates + small * n_each);
    if (has_sibling) end_node(&other, candidates + (1 - small) * n_each);
}
</%def>

<%def name="chunks(code, chunk)">
#define CHUNK ${chunk}

FN u32 chunks_of(GLOBAL const node_t* nodes, GLOBAL const u32* picked, const u32 n_trees) {
    u32 n = 0;
    for (u32 tree = 0; tree < n_trees; tree++) {
        if (picked[tree] != NO_NODE) n += (nodes[picked[tree]].count + CHUNK - 1) / CHUNK;
    }
    return n;
}

/* Move a chunk of the rows of nodes that split to their children: to the front those that go left, to the back
   others. Both are written and one of them counts: no branch is mispredicted. */
FN void move_chunk(GLOBAL node_t* nodes, GLOBAL const u32* picked, const u32 task, const u32 n_rows,
                   GLOBAL const ${code}* columns, GLOBAL const u32* feature_bins,
                   GLOBAL u32* even_rows, GLOBAL u32* odd_rows) {
    u32 chunk = task, tree = 0;
    for (;; tree++) { /* one of them has it */
        if (picked[tree] == NO_NODE) continue;
        const u32 own = (nodes[picked[tree]].count + CHUNK - 1) / CHUNK;
        if (chunk < own) break;
        chunk -= own;
    }
    GLOBAL const node_t* node = nodes + picked[tree];
    GLOBAL const u32* rows = node->depth % 2 ? odd_rows : even_rows;
    GLOBAL u32* moved = node->depth % 2 ? even_rows : odd_rows;
    const right_codes_t right = right_codes(node->bin, node->default_left, feature_bins[node->feature]);
    GLOBAL const ${code}* column = columns + (u64)node->feature * n_rows;
    const u32 begin = node->begin + chunk * CHUNK, node_end = node->begin + node->count, in_order = node->in_order;
    const u32 n = node_end - begin < CHUNK ? node_end - begin : CHUNK;
    u32 lefts[CHUNK], rights[CHUNK];
    u32 n_left = 0;
% for if_listed, row in (("in_order", "begin - node->begin + i"), ("!in_order", "rows[begin + i]")):
    for (u32 i = 0; ${if_listed} && i < n; i++) {
        const u32 row = ${row};
        lefts[n_left] = row;
        rights[i - n_left] = row;
        n_left += !code_goes_right(column[row], right);
    }
% endfor
    const u32 n_right = n - n_left;
    const u32 left_at = node->begin + atomic_add_global_u32(&nodes[node->left].count, n_left);
    const u32 right_at = node_end - n_right - atomic_add_global_u32(&nodes[node->left + 1].count, n_right);
    for (u32 i = 0; i < n_left; i++) moved[left_at + i] = lefts[i];
    for (u32 i = 0; i < n_right; i++) moved[right_at + i] = rights[i];
}
</%def>
