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
##   for nodes   clear_ends   ends_bin[position] = 0
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
%>
${group.exclusive_scan("group_scan", "i64", wg_size)}
${pieces.piece_of(search_chunk)}

/* The least H of bin k: ceil(k * T / ${max_bin}), from T = ${max_bin} * share + rest. No product reaches 2^61. */
typedef struct { i64 share; u32 rest; } bin_bounds_t;

FN i64 least_of(const bin_bounds_t bounds, const u32 k) {
    return k * bounds.share + (k * bounds.rest + ${max_bin - 1}u) / ${max_bin}u;
}

/* floor(sum * ${max_bin} / T): the last bin, from `low` on, whose least H is at most `sum`. */
FN u32 bin_of(const i64 sum, const bin_bounds_t bounds, u32 low) {
    u32 high = ${max_bin + 1};
    while (high - low > 1) {
        const u32 middle = (low + high) / 2;
        if (least_of(bounds, middle) <= sum) low = middle; else high = middle;
    }
    return low;
}

/* The Hessians of a node's tree, and of the entries of a piece. */
typedef struct {
    piece_t piece;
    GLOBAL const i32x2* high;
    u32 wide;
    i64 before, after; /* Hessians of the first segment before the piece, and of the last one behind it */
} hessians_t;

FN i64 hessian_at(const hessians_t* h, const u32 i) {
    return quanta_of(h->piece.entries, i, h->high, h->wide).y;
}

/* Sum of the piece's entries before one. `sums` has those before the first entry of every work-item, `total` those of
   all. `total` is not part of `h`: Mesa's zink (25.0) writes invalid SPIR-V where it is stored there. */
FN i64 sum_before(const hessians_t* h, const u32 at, LOCAL const i64* sums, const i64 total) {
    if (at >= h->piece.size) return total;
    i64 sum = sums[at / ${items}];
    for (u32 i = at - at % ${items}; i < at; i++) sum += hessian_at(h, i);
    return sum;
}

/* A feature's entries in a node: H of the first entry is `base` below the piece's running sum. */
typedef struct {
    u32 feature, few;
    u32 end; /* the place behind its last one */
    i64 base;
    bin_bounds_t bounds;
} segment_t;

FN void start_segment(segment_t* segment, const hessians_t* h, const u32 feature,
                      GLOBAL const u32* feature_offset, GLOBAL const u32* feature_bins,
                      LOCAL const i64* sums, const i64 total) {
    GLOBAL const u32* places = h->piece.entries.places;
    segment->feature = feature;
    segment->few = feature_bins[feature] <= ${max_bin} ? 1 : 0;
    segment->end = feature_offset[feature + 1];
    if (segment->few) return;
    const u32 begin = first_place(places, h->piece.size, feature_offset[feature]);
    const u32 end = first_place(places, h->piece.size, segment->end);
    segment->base = sum_before(h, begin, sums, total) - (begin == 0 ? h->before : 0);
    const i64 behind = sum_before(h, end, sums, total) + (end == h->piece.size ? h->after : 0);
    segment->bounds.share = (behind - segment->base) / ${max_bin};
    segment->bounds.rest = (u32)((behind - segment->base) - segment->bounds.share * ${max_bin});
}

<%def name="each_piece()">
    ${pieces.lists(False)}
    const u32 first = levels[step].first, count = levels[step].count, n_tasks = task_begin[count];
    for (u32 task = first_group + GROUP_ID; task < n_tasks; task += n_groups) {
        const u32 index = find_node(task_begin, count, task), id = first + index;
        GLOBAL const node_t* node = &nodes[id];
        const piece_t piece = piece_of(node, id, task - task_begin[index], n_entries, entry_begin,
                                       entry_end, every, even, odd);
        ${caller.body()}
    }
</%def>

## A work-item takes neighbouring entries; `caller` has the index i of each in which bins end, its place, its
## feature, and the bins `from` and `to` of the values before and behind it. `value` is for values that are few.
<%def name="each_end()">
<%call expr="each_piece()">
        hessians_t h;
        h.piece = piece;
        h.high = high + (u64)node->tree * n_rows;
        h.wide = scale[node->tree].wide;
        h.before = carries[4 * (u64)task + 1];
        h.after = carries[4 * (u64)task + 3];
        const u32 at = LOCAL_ID * ${items};
        const u32 n = at >= piece.size ? 0 : (piece.size - at < ${items} ? piece.size - at : ${items});
        i64 sum = 0;
        for (u32 k = 0; k < n; k++) sum += hessian_at(&h, at + k);
        i64 total;
        sum = group_scan(sum, shared, &total);
        sums[LOCAL_ID] = sum;
        BARRIER();
        segment_t segment;
        segment.end = 0;
        u32 from = 0;
        i64 next = 0; /* the running sum at which the next bin begins */
        for (u32 k = 0; k < n; k++) { /* entries are read again: few chips have registers for all */
            const u32 i = at + k, place = piece.entries.places[i];
            const i64 own = hessian_at(&h, i);
            if (place >= segment.end) {
                start_segment(&segment, &h, features[place], feature_offset, feature_bins, sums,
                              total);
                if (!segment.few) {
                    from = bin_of(sum - segment.base, segment.bounds, 0);
                    next = segment.base + least_of(segment.bounds, from + 1);
                }
            }
            sum += own;
            if (segment.few) {
                ${caller.value()}
            } else if (own > 0 && sum >= next) {
                const u32 to = bin_of(sum - segment.base, segment.bounds, from + 1);
                ${caller.body()}
                from = to;
                next = segment.base + least_of(segment.bounds, from + 1);
            }
        }
        BARRIER();
</%call>
</%def>

<%def name="arguments()">
        const u32 first_group, const u32 n_groups, const u32 step, const u32 n_rows, const u32 n_entries, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const u32* RESTRICT feature_bins,
        GLOBAL const u32* RESTRICT features, GLOBAL const i32x2* RESTRICT high,
        GLOBAL const i64* RESTRICT carries
</%def>

% if by_node:
KERNEL(${wg_size}) clear_ends(
        const u32 first_group, const u32 n_groups, const u32 step, const u32 n_entries, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL u8* RESTRICT ends_bin, ${pieces.list_arguments(False)}) {
<%call expr="each_piece()">
        for (u32 i = LOCAL_ID; i < piece.size; i += ${wg_size}) ends_bin[piece.begin + i] = 0;
</%call>
}

KERNEL(${wg_size}) mark_ends(${arguments()}, GLOBAL u8* RESTRICT ends_bin, ${pieces.list_arguments(False)}) {
    LOCAL_ARRAY(i64, shared, ${wg_size});
    LOCAL_ARRAY(i64, sums, ${wg_size});
<%call expr="each_end()">
<%def name="value()">
                if (i + 1 == piece.size + piece.behind || piece.entries.places[i + 1] != place)
                    ends_bin[piece.begin + i] = 1;
</%def>
                const u32 rest = piece.size - i + piece.behind;
                const u32 others = first_place(piece.entries.places + i, rest, place + 1);
                ends_bin[piece.begin + i + others - 1] = 1;
</%call>
}
% else:
KERNEL(${wg_size}) cut_roots(${arguments()}, const u32 n_cuts, GLOBAL const u32* RESTRICT first_cut,
                          GLOBAL u32* RESTRICT cuts, ${pieces.list_arguments(False)}) {
    LOCAL_ARRAY(i64, shared, ${wg_size});
    LOCAL_ARRAY(i64, sums, ${wg_size});
<%call expr="each_end()">
<%def name="value()">
                /* every value is a bin */
</%def>
                GLOBAL u32* own_cuts = cuts + (u64)node->tree * n_cuts + first_cut[segment.feature];
                for (u32 bin = from; bin < to; bin++) own_cuts[bin] = place;
</%call>
}

/* One row of work-groups for each tree; each has neighbouring places. */
KERNEL(${wg_size}) fill_ends(
        const u32 n_places, const u32 n_cuts, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const u32* RESTRICT features,
        GLOBAL const u32* RESTRICT first_cut, GLOBAL const u32* RESTRICT cuts,
        GLOBAL u32* RESTRICT bin_ends) {
    const u32 tree = GROUP_ID_Y, each = n_places / N_GROUPS + 1;
    const u32 begin = GROUP_ID * each, end = begin + each < n_places ? begin + each : n_places;
    cuts += (u64)tree * n_cuts;
    bin_ends += (u64)tree * n_places;
    u32 feature = NO_NODE, bin = 0;
    for (u32 place = begin + LOCAL_ID; place < end; place += ${wg_size}) {
        if (features[place] != feature) {
            feature = features[place];
            bin = 0;
        }
        u32 last = place;
        if (feature_bins[feature] > ${max_bin}) {
            GLOBAL const u32* own_cuts = cuts + first_cut[feature];
            if (bin < ${max_bin} && own_cuts[bin] < place)
                bin += first_place(own_cuts + bin, ${max_bin} - bin, place);
            last = bin < ${max_bin} ? own_cuts[bin] : feature_offset[feature] + feature_bins[feature] - 1;
        }
        bin_ends[place] = last;
    }
}
% endif
