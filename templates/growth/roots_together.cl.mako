## roots_together: roots of several trees in one pass over rows, for one work-item; `whole_trees` imports it behind
##                 `search_of_pairs`
##
##   code 0       |code 1       |..        cells of a place: sums of 4 trees (or 2) side by side, so that a row's code
##   t0 t1 t2 t3  |t0 t1 t2 t3  |          is read once, and its sums are added by wide vectors
##
##   7 trees      t0 .. t3 | t4 t5 | t6    all rows are in all roots
##
<%def name="searches_of_roots(code, most_codes, by_row, joint, roots_at_once, root_places)">
#define ROOTS ${roots_at_once}

FN u32 root_groups(const u32 n_trees) {
    return n_trees / ROOTS + (n_trees % ROOTS > 1) + n_trees % 2;
}

/* The trees of a group: the first one, and their number in `n`. */
FN u32 trees_of_group(const u32 group, const u32 n_trees, u32* n) {
    const u32 behind = n_trees / ROOTS * ROOTS, two = n_trees - behind > 1;
    if (group < n_trees / ROOTS) {
        *n = ROOTS;
        return group * ROOTS;
    }
    *n = two && group == n_trees / ROOTS ? 2 : 1;
    return *n == 2 ? behind : n_trees - 1;
}

FN u32 any_wide(GLOBAL const scale_t* scales, const u32 n) {
    u32 wide = 0;
    for (u32 t = 0; t < n; t++) wide |= scales[t].wide;
    return wide;
}

% for trees in (roots_at_once, 2):
% for n in (root_places, root_places // 2):
/* Add all rows to the cells of ${n} places of ${trees} trees. */
FN void add_roots_${trees}_${n}(const data_t* data, const u32 place, const u32 tree, GLOBAL i64* cells) {
    GLOBAL const ${code}* codes = data->by_row + place / ${by_row} * data->block_codes + place % ${by_row};
% for t in range(trees):
    GLOBAL const i32x2* quanta_${t} = data->quanta + (u64)(tree + ${t}) * data->n_rows;
% endfor
    for (u32 row = 0; row < data->n_rows; row++) {
        GLOBAL const ${code}* own = codes + (u64)row * data->row_codes;
% for t in range(trees):
        const i64 g_${t} = quanta_${t}[row].x, h_${t} = quanta_${t}[row].y;
% endfor
% for k in range(n):
        {
            GLOBAL i64* cell = cells + ${2 * trees} * (${k * most_codes} + (u32)own[${k}]);
% for t in range(trees):
            cell[${2 * t}] += g_${t};
            cell[${2 * t + 1}] += h_${t};
% endfor
        }
% endfor
    }
}

% endfor
% endfor
/* Search the splits of the roots of a group of trees by the places begin .. end - 1, at most ${root_places}. */
FN void search_roots(const data_t* data, const u32 first_tree, const u32 n_own, const u32 begin, const u32 end,
                     const u32 last, GLOBAL const node_t* nodes, GLOBAL const i64x2* node_sums,
                     GLOBAL const scale_t* scales, const f32 reg_lambda, const f32 max_delta_step,
                     const f32 min_child_weight, GLOBAL i64x2* pool, GLOBAL i64x2* scratch,
                     GLOBAL candidate_t* candidates, const u32 n_each) {
    GLOBAL i64x2* several = scratch; /* behind them, cells of one tree */
    scratch += ${root_places * roots_at_once * most_codes};
    for (u32 k = 0; k < end - begin; k++)
        for (u32 cell = 0; cell < n_own * cells_of(data, begin + k); cell++)
            several[n_own * k * ${most_codes} + cell] = MAKE_I64X2(0, 0);
    GLOBAL i64* cells = (GLOBAL i64*)several;
% for trees in (roots_at_once, 2):
    ${"else " * (trees == 2)}if (n_own == ${trees}) {
        if (end - begin > ${root_places // 2}) add_roots_${trees}_${root_places}(data, begin, first_tree, cells);
        else add_roots_${trees}_${root_places // 2}(data, begin, first_tree, cells);
    }
% endfor
    for (u32 t = 0; t < n_own; t++) {
        const u32 tree = first_tree + t;
        pair_t pair;
        pair.depth = 0;
        pair.last = last;
        pair.parent = pool;
        pair.search = begin_node(node_sums[tree], scales + tree, reg_lambda, max_delta_step, min_child_weight);
        pair.other = pair.search;
        GLOBAL i64x2* own = pool + (u64)nodes[tree].slot * data->n_codes;
        for (u32 k = 0; k < end - begin; k++) {
            const u32 n_cells = cells_of(data, begin + k);
            GLOBAL const i64x2* from = several + n_own * k * ${most_codes} + t;
            for (u32 cell = 0; cell < n_cells; cell++) scratch[cell] = from[n_own * cell];
            search_place(data, begin + k, scratch, own, scratch + ${by_row * most_codes}, &pair);
        }
        end_node(&pair.search, candidates + (u64)tree * n_each);
    }
}
</%def>
