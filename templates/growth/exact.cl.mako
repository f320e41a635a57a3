## exact: the best split of every node of a step, between any two neighbouring values of a column
## uses: portable_math structs tasks gain
## uses if not counted: children
## uses if counted: counted_children
## uses: entries
##
##   A node's entries lie sorted by feature, then by bin. A segment is the entries of one feature in a node.
##
##   entries     |f0 f0 f0 f1 f1 f1 f1 f1|f1 f1 f1 f2 f2|      cut into pieces, a work-group each
##   gather       a root's quanta, in the order of its entries
##   sum_pieces   head     tail           head     tail        sums of the first and of the last segment
##   carry        before: 0    after: ^   before: ^            what a segment has in other pieces of the node
##   score_roughly  running sums in each segment; the border behind the last entry of each bin is scored, with
##                the missing rows on the right and, where there are any, on the left
##   find         exact scores, in the pieces whose rough score is near their node's best
##   best_piece   the best of a node's pieces; `node_pieces` has this kernel and `carry`
##
##   The sums of missing rows are what a segment leaves of the node's. Order of splits: score, then lowest
##   feature, then lowest bin, then missing to the right.
##
##   Mitchell & Frank 2017, "Accelerating the XGBoost algorithm using GPU computing", section 3.4, with sums
##   of integers, and with a reduce and a scan of pieces in place of a segmented scan of all entries.
##
## params: wg_size; search_chunk, entries of a piece;
##         missing, some rows have no entry in some feature; monotone, features have constraints;
##         masked, nodes have features of their own; bins, what splits lie between:
##         "values", any two; "tree", bins of the tree, `bin_ends` has the last place of each place's bin;
##         "node", bins of the node, `ends_bin` has 1 for an entry that ends one (see `approx`);
##         interleaved, entries lie in the data's order, and a piece is of a stretch of it (see `interleaved`);
##         counted as in `split`
<%page args="wg_size, search_chunk, missing, monotone, masked, bins, interleaved, counted"/>
<%
    ends = {"values": "", "tree": ", bin_ends + (u64)node->tree * n_places", "node": ", ends_bin + piece.begin"}[bins]
    items = -(-search_chunk // wg_size)
    listed, sums = (stretches, "quanta_of_staged") if interleaved else (pieces, "quanta_of")
%>
<%namespace name="pieces" file="pieces_of_nodes.cl.mako"/>
<%namespace name="stretches" file="stretches.cl.mako"/>
<%namespace name="candidates" file="candidates.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="entry_items" file="entry_items.cl.mako"/>
<%namespace name="borders" file="borders.cl.mako"/>
${group.sum("group_sum", "i64", wg_size)}
${group.exclusive_scans("group_scan", "i64", wg_size, 2)}
${group.largest("group_max", "f32", wg_size)}
% if interleaved:
${stretches.first_of_tree()}
${stretches.functions(wg_size, search_chunk, bins)}
% else:
${pieces.piece_of(search_chunk)}
% endif
${candidates.group_best(wg_size)}
${candidates.consider(monotone)}
${entry_items.functions(wg_size, items, missing, bins, interleaved, masked)}
${borders.functions(items, missing, monotone)}

## The pieces of a level's nodes, `index` of the node and its `task`; interleaved, GROUP_ID_Y is the tree, and pieces
## of a stretch may be left out unless it is wanted.
<%def name="each_piece(wanted='', places='')">
% if interleaved:
<%call expr="stretches.each_piece(wg_size, search_chunk, wanted, places)">${caller.body()}</%call>
% else:
    ${pieces.lists()}
    const u32 first = levels[step].first, count = levels[step].count, n_tasks = task_begin[count];
    for (u32 task = first_group + GROUP_ID; task < n_tasks; task += n_groups) {
        const u32 index = find_node(task_begin, count, task);
        ${caller.body()}
    }
% endif
</%def>
#define READ_PIECE \
    const u32 id = first + index; \
    GLOBAL const node_t* node = &nodes[id]; \
% if interleaved:
    staged_piece_t piece = piece_of(staged, spans[task], f_begin, f_end);
% else:
    const piece_t piece = piece_of(node, id, task - task_begin[index], n_entries, entry_begin, entry_end, \
                                   every, even, odd);
% endif
/* What the kernels that score borders know of a piece. */
#define READ_ITEM \
% if interleaved:
    piece.next = next_place(piece, number, n_stretches, first_places + (u64)index * n_stretches, all_places${ends}); \
% endif
    item_t item; \
    read_item(&item, piece, features, high + (u64)node->tree * n_rows, scale[node->tree].wide${ends}${', allowed + (u64)index * ((n_features + 31) / 32)' if masked else ''});

/* What the borders' scores need of their node. */
#define READ_PARENT \
    parent_t parent; \
    read_tree(&parent, scale + node->tree, reg_lambda, reg_alpha, max_delta_step, min_child_weight); \
    read_node(&parent, node_sums[id]${", node_bounds[id]" if monotone else ""});

% if interleaved:
/* Whether a piece of a stretch has a rough score near its node's best. */
FN int any_near(GLOBAL const f32* rough, GLOBAL const u32* node_rough, const u32 low, const u32 end,
                const u32 number, const u32 n_stretches) {
    int found = 0;
    for (u32 index = low; index < end; index++)
        found |= rough[index * n_stretches + number] >= as_f32(node_rough[index]) * LESS;
    return found;
}

% endif
/* Work-groups with GROUP_ID_Y = t gather for the root of tree t. */
KERNEL(${wg_size}) gather(
        const u32 first_group, const u32 n_groups, const u32 n_rows, const u32 n_entries, GLOBAL const u32* RESTRICT all_rows,
        GLOBAL const i32x2* RESTRICT quanta, GLOBAL i32x2* RESTRICT gathered) {
    GLOBAL const i32x2* own = quanta + (u64)GROUP_ID_Y * n_rows;
    GLOBAL i32x2* to = gathered + (u64)GROUP_ID_Y * n_entries;
    for (u64 i = (u64)(first_group + GROUP_ID) * ${wg_size} + LOCAL_ID; i < n_entries; i += (u64)n_groups * ${wg_size})
        to[i] = own[all_rows[i]];
}

KERNEL(${wg_size}) sum_pieces(
        const u32 first_group, const u32 n_groups, const u32 step, const u32 n_rows, const u32 n_entries, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const u32* RESTRICT features,
        GLOBAL const i32x2* RESTRICT high, GLOBAL i64* RESTRICT piece_sums,
        GLOBAL u32* RESTRICT piece_ends, ${listed.list_arguments()}) {
    LOCAL_ARRAY(i64, shared, ${wg_size});
<%call expr="each_piece(places='f_begin != f_end')">
        READ_PIECE
        GLOBAL const i32x2* own_high = high + (u64)node->tree * n_rows;
% if not interleaved:
        const u32 wide = scale[node->tree].wide;
% endif
        const u32 f_first = ${"piece.first" if interleaved else "features[piece.entries.places[0]]"};
        const u32 f_last = ${"piece.last" if interleaved else "features[piece.entries.places[piece.size - 1]]"};
        const u32 head_end = feature_offset[f_first + 1], tail_begin = feature_offset[f_last];
        i64 head_g = 0, head_h = 0, tail_g = 0, tail_h = 0;
        if (f_first == f_last) {
            for (u32 i = LOCAL_ID; i < piece.size; i += ${wg_size}) {
                const i64x2 q = ${sums}(piece.entries, i, own_high, wide);
                head_g += q.x;
                head_h += q.y;
            }
        } else {
            for (u32 i = LOCAL_ID; i < piece.size; i += ${wg_size}) {
                const u32 place = piece.entries.places[i];
                if (place >= head_end && place < tail_begin) continue;
                const i64x2 q = ${sums}(piece.entries, i, own_high, wide);
                head_g += place < head_end ? q.x : 0;
                head_h += place < head_end ? q.y : 0;
                tail_g += place < head_end ? 0 : q.x;
                tail_h += place < head_end ? 0 : q.y;
            }
            tail_g = group_sum(tail_g, shared);
            tail_h = group_sum(tail_h, shared);
        }
        head_g = group_sum(head_g, shared);
        head_h = group_sum(head_h, shared);
        if (LOCAL_ID == 0) {
            piece_sums[4 * (u64)task] = head_g;
            piece_sums[4 * (u64)task + 1] = head_h;
            piece_sums[4 * (u64)task + 2] = f_first == f_last ? head_g : tail_g;
            piece_sums[4 * (u64)task + 3] = f_first == f_last ? head_h : tail_h;
            piece_ends[2 * task] = f_first;
            piece_ends[2 * task + 1] = f_last;
        }
</%call>
}

<%def name="ends_arguments()">
% if bins == "tree":
        const u32 n_places, GLOBAL const u32* RESTRICT bin_ends,
% elif bins == "node":
        GLOBAL const u8* RESTRICT ends_bin,
% endif
</%def>
KERNEL(${wg_size}) score_roughly(
        const u32 first_group, const u32 n_groups, const u32 step, const u32 n_rows, const u32 n_entries, const u32 n_features,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight,
        ${"GLOBAL const u32* RESTRICT allowed, " if masked else ""}GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const i64x2* RESTRICT node_sums,
        GLOBAL const bounds_t* RESTRICT node_bounds, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT features, GLOBAL const i32x2* RESTRICT high,
        GLOBAL const i64* RESTRICT carries, GLOBAL f32* RESTRICT rough, GLOBAL u32* node_rough,${ends_arguments()}
        GLOBAL candidate_t* RESTRICT found, ${listed.list_arguments()}) {
    LOCAL_ARRAY(i64, shared, ${2 * wg_size});
    LOCAL_ARRAY(i64, starts, ${4 * wg_size});
    LOCAL_ARRAY(u32, marks, ${(wg_size + 31) // 32});
    LOCAL_ARRAY(f32, scores, ${wg_size});
    (void)n_features; (void)node_bounds;
<%call expr="each_piece()">
        READ_PIECE
        f32 most = -1.0f;
        if (piece.size > 0) { /* only where they are interleaved, a piece may have no entries */
            READ_ITEM
            place_item(&item, carries + 4 * (u64)task, shared, starts, marks);
            READ_PARENT
            most = group_max(best_rough(&item, &parent), scores);
        }
        if (LOCAL_ID == 0) {
            rough[task] = most;
            found[task].score_hi = NO_SCORE;
            if (most > 0.0f) atomic_max_global_u32(&node_rough[index], as_u32(most));
        }
        BARRIER();
</%call>
}

KERNEL(${wg_size}) find(
        const u32 first_group, const u32 n_groups, const u32 step, const u32 n_rows, const u32 n_entries, const u32 n_features, const u32 exact_only,
        const f32 reg_lambda, const f32 reg_alpha, const f32 max_delta_step, const f32 min_child_weight,
        GLOBAL const u32* RESTRICT constraints,
        ${"GLOBAL const u32* RESTRICT allowed, " if masked else ""}GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const i64x2* RESTRICT node_sums, GLOBAL const bounds_t* RESTRICT node_bounds,
        GLOBAL const scale_t* RESTRICT scale, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT features, GLOBAL const i32x2* RESTRICT high,
        GLOBAL const i64* RESTRICT carries, GLOBAL const f32* RESTRICT rough,
        GLOBAL const u32* RESTRICT node_rough, GLOBAL candidate_t* RESTRICT found,${ends_arguments()}
        ${listed.list_arguments()}) {
    LOCAL_ARRAY(i64, shared, ${2 * wg_size});
    LOCAL_ARRAY(i64, starts, ${4 * wg_size});
    LOCAL_ARRAY(u32, marks, ${(wg_size + 31) // 32});
${candidates.best_arrays(wg_size)}\
    (void)constraints; (void)n_features; (void)node_bounds;
<%call expr="each_piece('(exact_only || any_near(rough, node_rough, low, end, number, n_stretches))')">
        const f32 least_score = exact_only ? -1.0f : as_f32(node_rough[index]) * LESS;
        if (exact_only || rough[task] >= least_score) {
            READ_PIECE
            READ_ITEM
            place_item(&item, carries + 4 * (u64)task, shared, starts, marks);
            READ_PARENT
            best_t best = best_exact(&item, &parent, features, constraints, exact_only, least_score);
            const u32 mine = best.at;
% if wg_size > 1:
            group_best(&best.score, &best.at, best_hi, best_lo, best_key);
% endif
            if (best.at == NO_KEY ? LOCAL_ID == 0 : mine == best.at) {
                const u32 feature = best.at == NO_KEY ? 0 : features[best.at / 2];
                best.at -= 2 * feature_offset[feature];
                write_candidate(&found[task], feature, best);
            }
            BARRIER();
        }
</%call>
}
