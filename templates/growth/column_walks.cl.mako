## column_walks: walk along a column in the order of values, and score the borders of every node in it;
##               `column_search` imports these defs, behind `candidates.consider`
##
##   column    |r3:0 r7:0 r1:2 r4:5 r9:5 r2:6|     rows and places, sorted
##   nodes      n1   n2   n1   n1   n2   n1        of the rows
##   sums       n1 4 entries, n2 2                 a first walk adds up each node's entries
##   borders   |n1:0 n1:2 n1:5 n1:6 . . . .|n2:0 n2:5 ..|   a second one lists running sums, by node, in multiples
##                                                 of 8; of equal places that of the last entry
##   scores    |                           |            rough ones in vectors; exact ones for those near the best
##                                                 of the node so far

<%namespace name="rough_scores" file="rough_scores.cl.mako"/>
<%def name="functions(masked, clipped)">
#define FEW 4
#define CLOSED 0xFFFFFFFFu

${rough_scores.rough(False, clipped)}
${rough_scores.score_run(8, False, space="GLOBAL ")}

/* A node's present values in a column: the node, and sums of its missing rows. */
typedef struct {
    parent_t node;
    i64 missing_g, missing_h;
} segment_t;

/* The highest rough score of few borders, one after the other. */
FN i32 score_few(GLOBAL const i64* sum_g, GLOBAL const i64* sum_h, const u32 n, const segment_t* segment) {
    i32 most = NEVER;
    for (u32 k = 0; k < n; k++) {
        i64 g = sum_g[k], h = sum_h[k];
        if (h == 0) continue;
        for (u32 direction = 0; direction < (segment->missing_h > 0 ? 2u : 1u); direction++) {
            if (may_split(g, h, segment->node.g - g, segment->node.h - h, segment->node.least)) {
                /* two divisions, as in score_8: with a lambda above 2^40 units products overflow */
                const f32 s = rough_score(g, h, segment->node.rule)
                    + rough_score(segment->node.g - g, segment->node.h - h, segment->node.rule);
                most = (i32)as_u32(s) > most ? (i32)as_u32(s) : most;
            }
            g += segment->missing_g;
            h += segment->missing_h;
        }
    }
    return most;
}

FN i32 highest_of_8(const i32* bits) {
    i32 most = NEVER;
    for (u32 k = 0; k < 8; k++) most = bits[k] > most ? bits[k] : most;
    return most;
}

/* Compare a node's borders in a column with the best that its group has found. */
FN void search_segment(GLOBAL const i64* sum_g, GLOBAL const i64* sum_h, GLOBAL const u32* places,
                       const u32 n, const segment_t* segment, const u32 feature,
                       GLOBAL u32* node_rough, GLOBAL candidate_t* found) {
    i32 bits[8], highest[8];
    const u32 n_directions = segment->missing_h > 0 ? 2 : 1;
    for (u32 k = 0; k < 8; k++) highest[k] = NEVER;
    if (n <= FEW) highest[0] = score_few(sum_g, sum_h, n, segment);
    else for (u32 direction = 0; direction < n_directions; direction++) {
        const i64 more_g = direction ? segment->missing_g : 0, more_h = direction ? segment->missing_h : 0;
        for (u32 k = 0; k < n; k += 8) {
            score_8(sum_h + k, sum_g + k, sum_h + k, more_g, more_h, &segment->node, bits);
            for (u32 j = 0; j < 8; j++) highest[j] = bits[j] > highest[j] ? bits[j] : highest[j];
        }
    }
    const i32 most = highest_of_8(highest);
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
            score_8(sum_h + k, sum_g + k, sum_h + k, more_g, more_h, &segment->node, bits);
            for (u32 j = 0; j < 8; j++) {
                if (bits[j] != NEVER && as_f32(bits[j]) * MORE >= top)
                    consider(&best, sum_g[k + j] + more_g, sum_h[k + j] + more_h,
                             2 * places[k + j] + direction, &segment->node);
            }
        }
    }
    if (best.at != before) write_candidate(found, feature, best);
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
    GLOBAL const i64x2* sums; /* of nodes */
    u32 is_root, wide, first, index, count;
    parent_t parent; /* of any node */
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
                    const u32 feature, const room_t* room,
                    ${"GLOBAL const u32* allowed, const u32 n_words, " if masked else ""}GLOBAL u32* node_rough, GLOBAL candidate_t* found) {
    const u32 n_seen = add_up(tree, rows, n, room);
    u32 n_open = 0, n_borders = 0;
    u8 closed = 1;
    for (u32 i = 0; i < n_seen; i++) {
        const u32 node = room->seen[i], n_own = room->spots[4 * node];
        const i64 h = room->sums[4 * node + 1], node_h = tree->sums[node].y;
        int open = may_have_borders(h, node_h, tree->parent.least.h);
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
    if (n_open) list_borders(tree, rows, places, n, room);
    for (u32 i = 0; i < n_seen; i++) {
        const u32 node = room->seen[i], begin = room->spots[4 * node + 1], end = room->spots[4 * node + 2];
        if (end != CLOSED) {
            segment_t segment;
            segment.node = tree->parent;
            read_node(&segment.node, tree->sums[node]);
            segment.missing_g = segment.node.g - room->sums[4 * node];
            segment.missing_h = segment.node.h - room->sums[4 * node + 1];
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
</%def>
