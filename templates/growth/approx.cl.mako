## approx: bins that hold about equal sums of Hessians, in the roots or in every node of a step
## uses: structs tasks entries
##
##   entries     |f0 f0 f0 f1 f1 f1 f1|..     of a node, sorted by feature, then by value; a segment is a feature's
##   H            0  4  5  0  3  6  9         sum of the segment's entries before; T is that of all of them
##   bin          0  3  4  0  1  2  3         floor(H * max_bin / T)
##   last               ^           ^         an entry in which bins end: H passes a multiple of T / max_bin
##
##   A bin ends behind the last value with such an entry. A feature with at most max_bin distinct values keeps a
##   bin for each.
##
##   for roots   cut_roots    cuts[tree][feature][k] = place of the entry in which bin k ends
##               fill_ends    bin_ends[tree][place] = first cut that is not below the place
##   for nodes   clear_ends   ends_bin[position] = 0; 1 at the end of each value, where values are few
##               mark_ends    ends_bin[position] = 1 at the end of the value in which a bin ends
##
##   Zhang 2016, "Efficient approximate boosting"; Chen & Guestrin 2016, "XGBoost", section 3.2. There a sketch of
##   the values is cut; here quantiles are exact, since the columns are sorted.
##
## params: wg_size; search_chunk, entries of a piece, as `exact` has them; max_bin; by_node, bins of every node
<%page args="wg_size, search_chunk, max_bin, by_node"/>
<%namespace name="pieces" file="pieces_of_nodes.cl.mako"/>
<%namespace name="group" file="group.cl.mako"/>
<%
    items = -(-search_chunk // wg_size)
    top_bit = 1 << max_bin.bit_length() - 1
%>
${group.exclusive_scan("group_scan", "i64", wg_size)}
${pieces.piece_of(search_chunk)}

/* floor(part * ${max_bin} / whole), for part <= whole < 2^61: multiply by one bit after the other. */
FN u32 bin_of(const i64 part, const i64 whole) {
    i64 rest = 0; /* below `whole` between two bits */
    u32 number = 0;
    for (u32 bit = ${top_bit}; bit > 0; bit /= 2) {
        number *= 2;
        rest = 2 * rest + (${max_bin}u & bit ? part : 0);
        for (u32 turn = 0; turn < 2; turn++) { /* it is below 3 * whole */
            const u32 more = rest >= whole ? 1 : 0;
            rest -= more ? whole : 0;
            number += more;
        }
    }
    return number;
}

/* The Hessians of a node's tree, and of the entries of a piece. */
typedef struct {
    piece_t piece;
    GLOBAL const i32x2* quanta;
    GLOBAL const i32x2* high;
    u32 wide;
    i64 before, after; /* Hessians of the first segment before the piece, and of the last one behind it */
    i64 total;         /* of the piece */
} hessians_t;

FN i64 hessian_at(const hessians_t* h, const u32 i) {
    return quanta_of(h->quanta, h->high, h->wide, h->piece.entries.rows[i]).y;
}

/* Sum of the piece's entries before one; `sums` has those before the first entry of every work-item. */
FN i64 sum_before(const hessians_t* h, const u32 at, LOCAL const i64* sums) {
    if (at >= h->piece.size) return h->total;
    i64 sum = sums[at / ${items}];
    for (u32 i = at - at % ${items}; i < at; i++) sum += hessian_at(h, i);
    return sum;
}

/* A feature's entries in a node: H of the first entry is `base` below the piece's running sum. */
typedef struct { u32 feature, few; i64 base, total; } segment_t;

FN segment_t segment_of(const hessians_t* h, const u32 feature, GLOBAL const u32* feature_offset,
                        GLOBAL const u32* feature_bins, LOCAL const i64* sums) {
    segment_t segment;
    segment.feature = feature;
    segment.few = feature_bins[feature] <= ${max_bin} ? 1 : 0;
    segment.base = segment.total = 0;
    if (segment.few) return segment;
    GLOBAL const u32* places = h->piece.entries.places;
    const u32 begin = first_place(places, h->piece.size, feature_offset[feature]);
    const u32 end = first_place(places, h->piece.size, feature_offset[feature + 1]);
    segment.base = sum_before(h, begin, sums) - (begin == 0 ? h->before : 0);
    segment.total = sum_before(h, end, sums) + (end == h->piece.size ? h->after : 0) - segment.base;
    return segment;
}

<%def name="each_piece()">
    ${pieces.lists()}
    const u32 first = levels[step].first, count = levels[step].count, n_tasks = task_begin[count];
    for (u32 task = GROUP_ID; task < n_tasks; task += N_GROUPS) {
        const u32 index = find_node(task_begin, count, task), id = first + index;
        GLOBAL const node_t* node = &nodes[id];
        const piece_t piece = piece_of(node, id, task - task_begin[index], n_entries, entry_begin,
                                       entry_end, every, even, odd);
        ${caller.body()}
    }
</%def>

## A work-item takes neighbouring entries; for each in which a bin ends, `caller` has the entry's index i, the
## segment, and the bins `from` and `to` of the values before and behind the end.
<%def name="each_end()">
<%call expr="each_piece()">
        hessians_t h;
        h.piece = piece;
        h.quanta = quanta + (u64)node->tree * n_rows;
        h.high = high + (u64)node->tree * n_rows;
        h.wide = scale[node->tree].wide;
        h.before = carries[4 * (u64)task + 1];
        h.after = carries[4 * (u64)task + 3];
        const u32 at = LOCAL_ID * ${items};
        const u32 end = at + ${items} < piece.size ? at + ${items} : piece.size;
        i64 sum = 0;
        for (u32 i = at; i < end; i++) sum += hessian_at(&h, i);
        sum = group_scan(sum, shared, &h.total);
        sums[LOCAL_ID] = sum;
        BARRIER();
        segment_t segment;
        segment.feature = NO_NODE;
        segment.few = 1;
        segment.base = segment.total = 0;
        u32 from = 0;
        for (u32 i = at; i < end; i++) {
            const u32 feature = features[piece.entries.places[i]];
            const i64 own = hessian_at(&h, i);
            if (feature != segment.feature) {
                segment = segment_of(&h, feature, feature_offset, feature_bins, sums);
                from = segment.total > 0 ? bin_of(sum - segment.base, segment.total) : 0;
            }
            sum += own;
            if (own > 0 && !segment.few) {
                const u32 to = bin_of(sum - segment.base, segment.total);
                if (to != from) {
                    ${caller.body()}
                }
                from = to;
            }
        }
        BARRIER();
</%call>
</%def>

<%def name="arguments()">
        const u32 step, const u32 n_rows, const u32 n_entries, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL const u32* RESTRICT features, GLOBAL const i32x2* RESTRICT quanta,
        GLOBAL const i32x2* RESTRICT high, GLOBAL const i64* RESTRICT carries
</%def>

% if by_node:
KERNEL(${wg_size}) clear_ends(
        const u32 step, const u32 n_entries, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL const u32* RESTRICT features, GLOBAL u8* RESTRICT ends_bin, ${pieces.list_arguments()}) {
<%call expr="each_piece()">
        const u32 rest = piece.size + piece.behind;
        for (u32 i = LOCAL_ID; i < piece.size; i += ${wg_size}) {
            const u32 place = piece.entries.places[i];
            const u32 few = feature_bins[features[place]] <= ${max_bin} ? 1 : 0;
            ends_bin[piece.begin + i] =
                few && (i + 1 == rest || piece.entries.places[i + 1] != place) ? 1 : 0;
        }
</%call>
}

KERNEL(${wg_size}) mark_ends(${arguments()}, GLOBAL u8* RESTRICT ends_bin, ${pieces.list_arguments()}) {
    LOCAL_ARRAY(i64, shared, ${wg_size});
    LOCAL_ARRAY(i64, sums, ${wg_size});
<%call expr="each_end()">
                    const u32 rest = piece.size - i + piece.behind;
                    const u32 others = first_place(piece.entries.places + i, rest, piece.entries.places[i] + 1);
                    ends_bin[piece.begin + i + others - 1] = 1;
</%call>
}
% else:
KERNEL(${wg_size}) cut_roots(${arguments()}, const u32 n_cuts, GLOBAL const u32* RESTRICT first_cut,
                          GLOBAL u32* RESTRICT cuts, ${pieces.list_arguments()}) {
    LOCAL_ARRAY(i64, shared, ${wg_size});
    LOCAL_ARRAY(i64, sums, ${wg_size});
<%call expr="each_end()">
                    GLOBAL u32* own_cuts = cuts + (u64)node->tree * n_cuts + first_cut[feature];
                    for (u32 k = from; k < to; k++) own_cuts[k] = piece.entries.places[i];
</%call>
}

/* One row of work-groups for each tree. */
KERNEL(${wg_size}) fill_ends(
        const u32 n_places, const u32 n_cuts, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const u32* RESTRICT features,
        GLOBAL const u32* RESTRICT first_cut, GLOBAL const u32* RESTRICT cuts,
        GLOBAL u32* RESTRICT bin_ends) {
    const u32 tree = GROUP_ID_Y;
    cuts += (u64)tree * n_cuts;
    bin_ends += (u64)tree * n_places;
    for (u32 place = GROUP_ID * ${wg_size} + LOCAL_ID; place < n_places; place += N_GROUPS * ${wg_size}) {
        const u32 feature = features[place], n_bins = feature_bins[feature];
        u32 end = place;
        if (n_bins > ${max_bin}) {
            GLOBAL const u32* own_cuts = cuts + first_cut[feature];
            const u32 k = first_place(own_cuts, ${max_bin}, place);
            end = k < ${max_bin} ? own_cuts[k] : feature_offset[feature] + n_bins - 1;
        }
        bin_ends[place] = end;
    }
}
% endif
