## interleaved: the entries of a level's nodes where they lie in the data's order, so that nothing moves
## uses: structs tasks entries
##
##   entries       |f0 f0 f0 f0|f0 f1 f1 f1|      of all nodes of a tree, sorted by feature, then by bin; stretches
##   node            A  B  A  C  B  B  A  -       of the entry's row; - is a leaf of before
##   ranks         | 0  2  1  3| 1  2  0  3|      in a stretch: by node, then as before
##   spans          A 0-2, B 2-3, C 3-4 | A 0-1, B 1-3, C none     of ranks: pieces of nodes; a task for each
##
##   list_stretches  makes the tasks of a step's nodes: as many for each as there are stretches
##   rank_entries    ranks, spans, and the place of each piece's first entry
##   count_entries   a node's entries in the stretches before each, and all of them
##   follow_pieces   as `follow_split` of `row_nodes`: rows with a value of the split's feature go where its bin does
##   place_nodes     where each node's entries begin and end, once they are moved
##   sort_entries    moves them: node by node, each in the order before
##
##   Mitchell & Frank 2017, "Accelerating the XGBoost algorithm using GPU computing": there, scans keep a sum for
##   every node. Here, the entries of a node are made neighbours in local memory, for the kernels of `exact`.
##
## params: wg_size; chunk, entries of a stretch, below 2^16; most_nodes of a tree in a level, below 255
<%page args="wg_size, chunk, most_nodes"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="stretches" file="stretches.cl.mako"/>
<%namespace name="local_sort" file="local_sort.cl.mako"/>
<%
    items = -(-chunk // wg_size)
    room = chunk + chunk // 32 + 1
%>
${group.exclusive_scan("group_scan", "u32", wg_size)}
% if wg_size > 1:
FN u32 four_bits(const u8 id, const u32 bit) { return ((u32)id >> bit) & 15u; }
${group.exclusive_scan("scan_u32", "u32", wg_size)}
${local_sort.declare("sort_stretch", "u8", "four_bits", wg_size, items, True)}

/* Number of the first of some sorted ids that is not below `least`. */
FN u32 first_id(LOCAL const u8* ids, const u32 n, const u32 least) {
    u32 low = 0, high = n;
    while (low < high) {
        const u32 middle = low + (high - low) / 2;
        if (ids[PAD(middle)] < least) low = middle + 1; else high = middle;
    }
    return low;
}
% endif

${stretches.first_of_tree()}
BRIEF
KERNEL(${wg_size}) list_stretches(
        const u32 step, const u32 n_stretches, GLOBAL const level_t* RESTRICT levels,
        GLOBAL u32* RESTRICT task_begin, GLOBAL u32* RESTRICT node_rough) {
    const u32 count = levels[step].count;
    for (u32 index = LOCAL_ID; index <= count; index += ${wg_size}) {
        task_begin[index] = index * n_stretches;
        if (index < count) node_rough[index] = 0;
    }
}

## The stretches of a tree, which has the level's nodes `low` to `low + n - 1`, one after the other; an entry of
## another node has the bucket n.
<%def name="each_stretch()">
    const u32 tree = GROUP_ID_Y, first = levels[step].first, count = levels[step].count;
    const u32 low = first_of_tree(nodes, first, count, tree);
    const u32 n = first_of_tree(nodes, first, count, tree + 1) - low;
    GLOBAL const u32* own = row_nodes + (u64)tree * n_rows;
    ranks += (u64)tree * n_entries;
    const u32 end = n ? n_stretches : 0;
    for (u32 number = first_group + GROUP_ID; number < end; number += n_groups) {
        const u32 begin = number * ${chunk};
        const u32 size = n_entries - begin < ${chunk} ? n_entries - begin : ${chunk};
        ${caller.body()}
    }
</%def>

KERNEL(${wg_size}) rank_entries(
        const u32 first_group, const u32 n_groups, const u32 step, const u32 n_rows, const u32 n_entries, const u32 n_stretches,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT all_rows, GLOBAL const u32* RESTRICT all_places,
        GLOBAL const u32* RESTRICT row_nodes, GLOBAL u16* RESTRICT ranks, GLOBAL u32* RESTRICT spans,
        GLOBAL u32* RESTRICT first_places) {
    LOCAL_ARRAY(u8, ids, ${room});
% if wg_size == 1:
    LOCAL_ARRAY(u32, at, ${most_nodes + 1});
    LOCAL_ARRAY(u32, first_at, ${most_nodes + 1});
% else:
    LOCAL_ARRAY(u16, index, ${room});
    LOCAL_ARRAY(u32, words, ${9 * wg_size});
    LOCAL_ARRAY(u32, shared, ${wg_size});
% endif
<%call expr="each_stretch()">
% if wg_size == 1:
        for (u32 b = 0; b <= n; b++) at[b] = 0;
        for (u32 i = 0; i < size; i++) {
            const u32 node = own[all_rows[begin + i]] - first - low, b = node < n ? node : n;
            if (at[b]++ == 0) first_at[b] = i;
            ids[i] = (u8)b;
        }
        u32 before = 0;
        for (u32 b = 0; b <= n; b++) {
            const u32 behind = before + at[b];
            if (b < n) {
                const u64 task = (u64)(low + b) * n_stretches + number;
                spans[task] = before | behind << 16;
                first_places[task] = at[b] ? all_places[begin + first_at[b]] : NO_NODE;
            }
            at[b] = before;
            before = behind;
        }
        for (u32 i = 0; i < size; i++) ranks[begin + i] = (u16)at[ids[i]]++;
% else:
        for (u32 i = LOCAL_ID; i < size; i += ${wg_size}) {
            const u32 node = own[all_rows[begin + i]] - first - low;
            ids[PAD(i)] = (u8)(node < n ? node : n);
            index[PAD(i)] = (u16)i;
        }
        BARRIER();
        sort_stretch(ids, index, words, shared, size, 0, n < 16 ? 4 : 8);
        for (u32 i = LOCAL_ID; i < size; i += ${wg_size}) ranks[begin + index[PAD(i)]] = (u16)i;
        for (u32 b = LOCAL_ID; b < n; b += ${wg_size}) {
            const u64 task = (u64)(low + b) * n_stretches + number;
            const u32 from = first_id(ids, size, b), to = first_id(ids, size, b + 1);
            spans[task] = from | to << 16;
            first_places[task] = from < to ? all_places[begin + index[PAD(from)]] : NO_NODE;
        }
        BARRIER();
% endif
</%call>
}

/* One work-group for each node. */
KERNEL(${wg_size}) count_entries(
        const u32 step, const u32 n_stretches, GLOBAL const level_t* RESTRICT levels,
        GLOBAL node_t* RESTRICT nodes, GLOBAL const u32* RESTRICT spans, GLOBAL u32* RESTRICT piece_at) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u32 first = levels[step].first, count = levels[step].count;
    const u32 share = (n_stretches + ${wg_size - 1}) / ${wg_size};
    const u32 begin = LOCAL_ID * share < n_stretches ? LOCAL_ID * share : n_stretches;
    const u32 end = n_stretches - begin < share ? n_stretches : begin + share;
    for (u32 index = GROUP_ID; index < count; index += N_GROUPS) {
        GLOBAL const u32* own = spans + (u64)index * n_stretches;
        GLOBAL u32* at = piece_at + (u64)index * n_stretches;
        u32 sum = 0, total;
        for (u32 i = begin; i < end; i++) sum += (own[i] >> 16) - (own[i] & 0xFFFFu);
        u32 before = group_scan(sum, shared, &total);
        for (u32 i = begin; i < end; i++) {
            at[i] = before;
            before += (own[i] >> 16) - (own[i] & 0xFFFFu);
        }
        if (LOCAL_ID == 0) nodes[first + index].count = total;
    }
}

KERNEL(${wg_size}) follow_pieces(
        const u32 step, const u32 n_rows, const u32 n_entries, const u32 n_stretches,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const u32* RESTRICT all_rows,
        GLOBAL const u32* RESTRICT all_places, GLOBAL const u16* RESTRICT ranks,
        GLOBAL const u32* RESTRICT spans, GLOBAL u32* RESTRICT row_nodes) {
    const u32 first = levels[step].first, count = levels[step].count;
    for (u32 index = GROUP_ID_Y; index < count; index += N_GROUPS_Y) {
        GLOBAL const node_t* node = &nodes[first + index];
        if (node->left == NO_NODE) continue;
        GLOBAL const u32* offset = feature_offset + node->feature;
        const u32 border = first_place(all_places, n_entries, offset[0] + node->bin + 1);
        const u32 begin = node->default_left ? border : first_place(all_places, n_entries, offset[0]);
        const u32 end = node->default_left ? first_place(all_places, n_entries, offset[1]) : border;
        const u32 child = node->left + (node->default_left ? 1 : 0);
        GLOBAL u32* own = row_nodes + (u64)node->tree * n_rows;
        GLOBAL const u16* own_ranks = ranks + (u64)node->tree * n_entries;
        GLOBAL const u32* own_spans = spans + (u64)index * n_stretches;
        for (u32 i = begin + GROUP_ID * ${wg_size} + LOCAL_ID; i < end; i += N_GROUPS * ${wg_size}) {
            const u32 span = own_spans[i / ${chunk}], rank = own_ranks[i];
            if (rank >= (span & 0xFFFFu) && rank < span >> 16) own[all_rows[i]] = child;
        }
    }
}

BRIEF
KERNEL(${wg_size}) place_nodes(
        const u32 step, GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL u32* RESTRICT entry_begin, GLOBAL u32* RESTRICT entry_end) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u32 first = levels[step].first, count = levels[step].count;
    u32 n_before = 0, more;
    for (u32 base = 0; base < count; base += ${wg_size}) {
        const u32 index = base + LOCAL_ID, id = first + (index < count ? index : 0);
        const u32 size = index < count ? nodes[id].count : 0;
        const u32 begin = n_before + group_scan(size, shared, &more);
        if (index < count) {
            entry_begin[id] = begin;
            entry_end[id] = begin + size;
        }
        n_before += more;
    }
}

KERNEL(${wg_size}) sort_entries(
        const u32 first_group, const u32 n_groups, const u32 step, const u32 n_rows, const u32 n_entries, const u32 n_stretches,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT all_rows, GLOBAL const u32* RESTRICT all_places,
        GLOBAL const i32x2* RESTRICT all_quanta, GLOBAL const u32* RESTRICT row_nodes,
        GLOBAL const u16* RESTRICT ranks, GLOBAL const u32* RESTRICT spans,
        GLOBAL const u32* RESTRICT piece_at, GLOBAL const u32* RESTRICT entry_begin,
        GLOBAL u32* RESTRICT moved_rows, GLOBAL u32* RESTRICT moved_places,
        GLOBAL i32x2* RESTRICT moved_quanta) {
    LOCAL_ARRAY(u32, to, ${most_nodes + 1}); /* of each node's piece, minus its first rank */
<%call expr="each_stretch()">
        for (u32 b = LOCAL_ID; b < n; b += ${wg_size}) {
            const u64 task = (u64)(low + b) * n_stretches + number;
            to[b] = entry_begin[first + low + b] + piece_at[task] - (spans[task] & 0xFFFFu);
        }
        BARRIER();
        for (u32 i = LOCAL_ID; i < size; i += ${wg_size}) {
            const u32 row = all_rows[begin + i], b = own[row] - first - low;
            if (b < n) {
                const u32 at = to[b] + ranks[begin + i];
                moved_rows[at] = row;
                moved_places[at] = all_places[begin + i];
                moved_quanta[at] = all_quanta[(u64)tree * n_entries + begin + i];
            }
        }
        BARRIER();
</%call>
}
