## column_search: as `exact`, with one work-item a group that walks whole columns; entries are never moved
## uses: portable_math structs tasks gain entries
##
##   column        |r3:0 r7:0 r1:2 r4:5 r9:5 r2:6|     rows and places, sorted; all trees share them
##   nodes          n1   n2   n1   n1   n2   n1        of the rows
##   sums           n1 4 entries, n2 2                 a first walk adds up each node's entries
##   borders       |n1:0 n1:2 n1:5 n1:6|n2:0 n2:5|     a second one lists running sums, by node; of equal
##                                                     places the last entry's
##   scores        |         |         |     |..       rough ones in vectors of 8; exact ones for those near
##                                                     the best of the node so far
##
##   begin_columns  where each column's entries begin
##   find           tasks are blocks of columns of a tree; a group has neighbouring tasks. Its best splits in
##                  tree t are in slot `group + t` of `found`, which no other pair of group and tree has
##   best           the best of a node's slots
##   follow_column  rows with a value of the split's feature go where its place does
##
##   A column is closed for a tree where no node has children of `min_child_weight`: below, none will.
##   The order of splits is that of `exact`.
##
## params: wg_size (1); block, entries of the columns that begin in a task; masked, nodes have features of
##         their own; clipped, weights are, by max_delta_step
<%page args="wg_size, block, masked, clipped"/>
<%namespace name="candidates" file="candidates.cl.mako"/>
<%namespace name="rough_scores" file="rough_scores.cl.mako"/>
${candidates.consider(False)}
#define NEVER (-1) /* the bits of no score */
#define CLOSED 0xFFFFFFFFu

${rough_scores.rough(False, clipped)}
/* What the borders of a node are scored with, and the place of its group's best split. */
typedef struct {
    i64 node_g, node_h, missing_g, missing_h;
    i64 least; /* Hessian of a child */
    rule_t rule;
} segment_t;

/* Rough scores of 8 borders, as integers that order alike; the highest one. */
FN i32 score_8(GLOBAL const i64* sum_g, GLOBAL const i64* sum_h, const segment_t* segment,
               const u32 direction, i32* bits) {
    const i64 node_g = segment->node_g, node_h = segment->node_h, least = segment->least;
    const i64 more_g = direction ? segment->missing_g : 0, more_h = direction ? segment->missing_h : 0;
    const rule_t rule = segment->rule;
    i32 most = NEVER;
    for (u32 k = 0; k < 8; k++) {
        const i64 g = sum_g[k] + more_g, h = sum_h[k] + more_h;
        const int may = (sum_h[k] != 0) & (node_h - h > 0) & (h >= least) & (node_h - h >= least);
        const f32 s = rough(g, h, rule) + rough(node_g - g, node_h - h, rule);
        bits[k] = may ? (i32)as_u32(s) : NEVER;
    }
    for (u32 k = 0; k < 8; k++) most = bits[k] > most ? bits[k] : most;
    return most;
}

/* Compare a node's borders in a column with the best that its group has found. */
FN void search_segment(GLOBAL const i64* sum_g, GLOBAL const i64* sum_h, GLOBAL const u32* places,
                       const u32 n, const segment_t* segment, const u32 feature,
                       GLOBAL u32* node_rough, GLOBAL candidate_t* found) {
    i32 bits[8];
    i32 most = NEVER;
    const u32 n_directions = segment->missing_h > 0 ? 2 : 1;
    for (u32 direction = 0; direction < n_directions; direction++) {
        for (u32 k = 0; k < n; k += 8) {
            const i32 high = score_8(sum_g + k, sum_h + k, segment, direction, bits);
            most = high > most ? high : most;
        }
    }
    if (most == NEVER) return;
    f32 top = as_f32(*node_rough);
    if (as_f32(most) * MORE < top) return;
    if (as_f32(most) > top) {
        top = as_f32(most);
        atomic_max_global_u32(node_rough, (u32)most);
    }
    best_t best;
    best.score = df_make(found->score_hi, found->score_lo);
    best.at = found->bin_direction;
    best.g = found->left_g;
    best.h = found->left_h;
    const u32 before = best.at;
    for (u32 direction = 0; direction < n_directions; direction++) {
        const i64 more_g = direction ? segment->missing_g : 0, more_h = direction ? segment->missing_h : 0;
        for (u32 k = 0; k < n; k += 8) {
            if (as_f32(score_8(sum_g + k, sum_h + k, segment, direction, bits)) * MORE < top) continue;
            for (u32 j = 0; j < 8; j++) {
                if (bits[j] != NEVER && as_f32(bits[j]) * MORE >= top)
                    consider(&best, sum_g[k + j] + more_g, sum_h[k + j] + more_h,
                             2 * places[k + j] + direction, segment->node_g, segment->node_h, segment->rule);
            }
        }
    }
    if (best.at != before) write_candidate(found, feature, best);
}

KERNEL(${wg_size}) begin_columns(
        const u32 n_entries, const u32 n_features, GLOBAL const u32* RESTRICT all_places,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL u32* RESTRICT column_begin) {
    for (u32 f = GROUP_ID; f <= n_features; f += N_GROUPS)
        column_begin[f] = first_place(all_places, n_entries, feature_offset[f]);
}

/* The first of a level's nodes whose tree is not below a tree; nodes lie in the order of trees. */
FN u32 first_of_tree(GLOBAL const node_t* nodes, const u32 count, const u32 tree) {
    u32 low = 0, high = count;
    while (low < high) {
        const u32 middle = low + (high - low) / 2;
        if (nodes[middle].tree < tree) low = middle + 1; else high = middle;
    }
    return low;
}

/* A group's memory: of a node its sums and running sums; its entries, where its borders begin and end, and
   the last place; the nodes that are seen in a column; the borders of a column. */
typedef struct {
    GLOBAL i64* sums;
    GLOBAL u32* spots;
    GLOBAL u32* seen;
    GLOBAL i64* border_g;
    GLOBAL i64* border_h;
    GLOBAL u32* border_places;
} room_t;

/* The rows of a tree, and its nodes in a level: from id `first` on, in the level from `index` on. */
typedef struct {
    GLOBAL const u32* row_nodes;
    GLOBAL const i32x2* quanta;
    GLOBAL const i32x2* high;
    GLOBAL const node_t* nodes;
    u32 is_root, wide, first, index, count;
    i64 least;
    rule_t rule;
} tree_t;

FN u32 node_of(const tree_t* tree, const u32 row) { return tree->is_root ? 0 : tree->row_nodes[row] - tree->first; }

FN i64x2 quanta_of_row(const tree_t* tree, const u32 row) {
    i64 g = tree->quanta[row].x, h = tree->quanta[row].y;
    if (tree->wide) {
        g += (i64)tree->high[row].x * 4294967296;
        h += (i64)tree->high[row].y * 4294967296;
    }
    return MAKE_I64X2(g, h);
}

/* Add up every node's entries in a column; return the number of nodes that are seen. Sums of neighbours of a
   node stay in registers. */
FN u32 add_up(const tree_t* tree, GLOBAL const u32* rows, const u32 n, const room_t* room) {
    u32 n_seen = 0, current = 0, n_own = 0;
    i64 sum_g = 0, sum_h = 0;
    for (u32 i = 0; i < n; i++) {
        const u32 row = rows[i], node = node_of(tree, row);
        if (node >= tree->count) continue;
        const i64x2 q = quanta_of_row(tree, row);
        if (node != current) {
            room->spots[4 * current] += n_own;
            room->sums[4 * current] += sum_g;
            room->sums[4 * current + 1] += sum_h;
            sum_g = sum_h = 0;
            n_own = 0;
            current = node;
        }
        if (n_own == 0 && room->spots[4 * node] == 0) room->seen[n_seen++] = node;
        n_own++;
        sum_g += q.x;
        sum_h += q.y;
    }
    room->spots[4 * current] += n_own;
    room->sums[4 * current] += sum_g;
    room->sums[4 * current + 1] += sum_h;
    return n_seen;
}

/* List the running sums of nodes whose borders have a room, behind the last entry of each place. */
FN void list_borders(const tree_t* tree, GLOBAL const u32* rows, GLOBAL const u32* places, const u32 n,
                     const room_t* room) {
    u32 current = NO_NODE, at = CLOSED, last = 0;
    i64 sum_g = 0, sum_h = 0;
    for (u32 i = 0; i < n; i++) {
        const u32 row = rows[i], node = node_of(tree, row), place = places[i];
        if (node >= tree->count) continue;
        if (node != current) {
            if (at != CLOSED) {
                room->sums[4 * current + 2] = sum_g;
                room->sums[4 * current + 3] = sum_h;
                room->spots[4 * current + 2] = at;
                room->spots[4 * current + 3] = last;
            }
            current = node;
            sum_g = room->sums[4 * node + 2];
            sum_h = room->sums[4 * node + 3];
            at = room->spots[4 * node + 2];
            last = room->spots[4 * node + 3];
        }
        if (at == CLOSED) continue;
        const i64x2 q = quanta_of_row(tree, row);
        sum_g += q.x;
        sum_h += q.y;
        at += last != place ? 1 : 0;
        last = place;
        room->border_g[at - 1] = sum_g;
        room->border_h[at - 1] = sum_h;
        room->border_places[at - 1] = place;
    }
    if (at != CLOSED) room->spots[4 * current + 2] = at;
}

/* Search a column in all nodes of a tree; tell whether it is closed. */
FN u8 search_column(const tree_t* tree, GLOBAL const u32* rows, GLOBAL const u32* places, const u32 n,
                    const u32 feature, const room_t* room, GLOBAL const u32* allowed, const u32 n_words,
                    GLOBAL u32* node_rough, GLOBAL candidate_t* found) {
    const u32 n_seen = add_up(tree, rows, n, room);
    u32 n_open = 0, n_borders = 0;
    u8 closed = 1;
    for (u32 i = 0; i < n_seen; i++) {
        const u32 node = room->seen[i], n_own = room->spots[4 * node];
        const i64 h = room->sums[4 * node + 1], node_h = tree->nodes[node].sum_h;
        int open = h > 0 && h >= tree->least && node_h - tree->least >= tree->least;
        if (open) closed = 0;
% if masked:
        open = open && ((allowed[(u64)(tree->index + node) * n_words + feature / 32] >> feature % 32) & 1);
% endif
        room->spots[4 * node + 1] = n_borders;
        room->spots[4 * node + 2] = open ? n_borders : CLOSED;
        room->spots[4 * node + 3] = CLOSED;
        room->sums[4 * node + 2] = room->sums[4 * node + 3] = 0;
        n_borders += open ? (n_own + 7) / 8 * 8 : 0;
        n_open += open ? 1 : 0;
    }
    (void)allowed; (void)n_words;
    if (n_open) list_borders(tree, rows, places, n, room);
    for (u32 i = 0; i < n_seen; i++) {
        const u32 node = room->seen[i], begin = room->spots[4 * node + 1], end = room->spots[4 * node + 2];
        if (end != CLOSED) {
            segment_t segment;
            segment.node_g = tree->nodes[node].sum_g;
            segment.node_h = tree->nodes[node].sum_h;
            segment.missing_g = segment.node_g - room->sums[4 * node];
            segment.missing_h = segment.node_h - room->sums[4 * node + 1];
            segment.least = tree->least;
            segment.rule = tree->rule;
            for (u32 k = end; k < begin + (end - begin + 7) / 8 * 8; k++)
                room->border_g[k] = room->border_h[k] = 0;
            search_segment(room->border_g + begin, room->border_h + begin, room->border_places + begin,
                           end - begin, &segment, feature, &node_rough[tree->index + node], &found[node]);
        }
        room->spots[4 * node] = 0;
        room->sums[4 * node] = room->sums[4 * node + 1] = 0;
    }
    return closed;
}

KERNEL(${wg_size}) find(
        const u32 step, const u32 n_rows, const u32 n_trees, const u32 n_features, const u32 n_entries,
        const u32 n_nodes, const u32 n_borders, const f32 reg_lambda, const f32 max_delta_step,
        const f32 min_child_weight, GLOBAL const u32* RESTRICT allowed,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT column_begin,
        GLOBAL const u32* RESTRICT all_rows, GLOBAL const u32* RESTRICT all_places,
        GLOBAL const i32x2* RESTRICT quanta, GLOBAL const i32x2* RESTRICT high,
        GLOBAL const u32* RESTRICT row_nodes, GLOBAL u8* RESTRICT closed_columns, GLOBAL u32* node_rough,
        GLOBAL candidate_t* RESTRICT found, GLOBAL i64* RESTRICT node_sums,
        GLOBAL u32* RESTRICT node_spots, GLOBAL i64* RESTRICT border_sums,
        GLOBAL u32* RESTRICT border_places) {
    const u32 group = GROUP_ID, first = levels[step].first, count = levels[step].count;
    const u32 n_blocks = (n_entries + ${block - 1}) / ${block}, n_tasks = n_trees * n_blocks;
    room_t room;
    room.sums = node_sums + (u64)group * 4 * n_nodes;
    room.spots = node_spots + (u64)group * 5 * n_nodes;
    room.seen = room.spots + 4 * n_nodes;
    room.border_g = border_sums + (u64)group * 2 * n_borders;
    room.border_h = room.border_g + n_borders;
    room.border_places = border_places + (u64)group * n_borders;
    tree_t tree;
    u32 current = NO_NODE;
    tree.count = 0;
    const u32 end_task = first_task(n_tasks, group + 1, N_GROUPS);
    for (u32 task = first_task(n_tasks, group, N_GROUPS); task < end_task; task++) {
        const u32 number = task / n_blocks, from = (task - number * n_blocks) * ${block};
        GLOBAL candidate_t* slot = found + (u64)(group + number) * n_nodes;
        if (number != current) {
            GLOBAL const scale_t* own = scale + number;
            current = number;
            tree.index = first_of_tree(nodes + first, count, number);
            tree.first = first + tree.index;
            tree.count = first_of_tree(nodes + first, count, number + 1) - tree.index;
            tree.nodes = nodes + tree.first;
            tree.is_root = step == 0;
            tree.wide = own->wide;
            tree.row_nodes = row_nodes + (u64)number * n_rows;
            tree.quanta = quanta + (u64)number * n_rows;
            tree.high = high + (u64)number * n_rows;
            tree.least = to_quanta(min_child_weight, own->h - own->weight_shift);
            tree.rule = make_rule(own, reg_lambda, 0.0f, max_delta_step);
            for (u32 node = 0; node < tree.count; node++) {
                slot[node].score_hi = NO_SCORE;
                slot[node].score_lo = 0.0f;
                slot[node].bin_direction = NO_KEY;
            }
        }
        if (tree.count == 0) continue;
        GLOBAL u8* closed = closed_columns + (u64)number * n_features;
        const u32 end = first_place(column_begin, n_features, from + ${block});
        for (u32 f = first_place(column_begin, n_features, from); f < end; f++) {
            const u32 begin = column_begin[f], n = column_begin[f + 1] - begin;
            if (n == 0 || (step > 0 && closed[f])) continue;
            closed[f] = search_column(&tree, all_rows + begin, all_places + begin, n, f, &room, allowed,
                                      (n_features + 31) / 32, node_rough, slot);
        }
    }
}

/* `n_groups` of the launch of `find`. */
KERNEL(${wg_size}) best(
        const u32 step, const u32 n_groups, const u32 n_trees, const u32 n_entries, const u32 n_nodes,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const candidate_t* RESTRICT found,
        GLOBAL u32* RESTRICT node_rough, GLOBAL candidate_t* RESTRICT chosen) {
    const u32 index = GROUP_ID, first = levels[step].first, count = levels[step].count;
    if (index >= count) return;
    const u32 n_blocks = (n_entries + ${block - 1}) / ${block}, n_tasks = n_trees * n_blocks;
    const u32 number = nodes[first + index].tree;
    const u32 node = index - first_of_tree(nodes + first, count, number);
    best_t best = no_split();
    u32 feature = 0;
    for (u32 group = 0; group < n_groups; group++) {
        const u32 begin = first_task(n_tasks, group, n_groups), end = first_task(n_tasks, group + 1, n_groups);
        if (begin == end || begin >= (number + 1) * n_blocks || end <= number * n_blocks) continue;
        GLOBAL const candidate_t* c = &found[(u64)(group + number) * n_nodes + node];
        const df s = df_make(c->score_hi, c->score_lo);
        if (c->score_hi > NO_SCORE && ahead(s, c->bin_direction, best.score, best.at)) {
            best.score = s;
            best.at = c->bin_direction;
            best.g = c->left_g;
            best.h = c->left_h;
            feature = c->feature;
        }
    }
    if (best.at != NO_KEY) best.at -= 2 * feature_offset[feature];
    write_candidate(&chosen[index], feature, best);
    node_rough[index] = 0;
}

/* Behind `row_nodes.follow`, which sent all rows of split nodes to the child of missing values. */
KERNEL(${wg_size}) follow_column(
        const u32 step, const u32 n_rows, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT column_begin, GLOBAL const u32* RESTRICT all_rows,
        GLOBAL const u32* RESTRICT all_places, GLOBAL u32* RESTRICT row_nodes) {
    const u32 first = levels[step].first, count = levels[step].count;
    for (u32 index = GROUP_ID; index < count; index += N_GROUPS) {
        GLOBAL const node_t* node = &nodes[first + index];
        if (node->left == NO_NODE) continue;
        const u32 feature = node->feature, begin = column_begin[feature], end = column_begin[feature + 1];
        const u32 border = begin + first_place(all_places + begin, end - begin,
                                               feature_offset[feature] + node->bin + 1);
        const u32 usual = node->left + (node->default_left ? 0 : 1);
        const u32 other = node->left + (node->default_left ? 1 : 0);
        const u32 to = node->default_left ? end : border;
        GLOBAL u32* own = row_nodes + (u64)node->tree * n_rows;
        for (u32 i = node->default_left ? border : begin; i < to; i++) {
            const u32 row = all_rows[i];
            if (own[row] == usual) own[row] = other;
        }
    }
}
