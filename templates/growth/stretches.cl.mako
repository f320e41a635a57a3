## stretches: pieces of nodes whose entries are interleaved, see `interleaved`; other templates import these defs
##
##   entries   |a B c A b C|      a stretch; entries of three nodes
##   ranks      0 2 4 1 3 5
##   staged    |a A|B b|c C|      in local memory (a lone work-item's own): a node's entries are neighbours, a piece

## Index of the first of a level's nodes whose tree is not before `tree`.
<%def name="first_of_tree()">
FN u32 first_of_tree(GLOBAL const node_t* nodes, const u32 first, const u32 count, const u32 tree) {
    u32 low = 0, high = count;
    while (low < high) {
        const u32 middle = low + (high - low) / 2;
        if (nodes[first + middle].tree < tree) low = middle + 1; else high = middle;
    }
    return low;
}
</%def>

<%def name="list_arguments()">
        const u32 n_stretches, GLOBAL const u16* RESTRICT ranks, GLOBAL const u32* RESTRICT spans,
        GLOBAL const u32* RESTRICT first_places, GLOBAL const u32* RESTRICT all_rows,
        GLOBAL const u32* RESTRICT all_places, GLOBAL const i32x2* RESTRICT all_quanta
</%def>

## `piece_of`: the piece of a span; `next_place`: the bin of the node's next entry if it can be the one of the
## piece's last entry, which goes on to the next stretch.
<%def name="functions(wg_size, chunk, bins)">
<%
    space = "LOCAL " if wg_size > 1 else ""
    ends_argument, bin_at = (", GLOBAL const u32* ends", "ends[{}]") if bins == "tree" else ("", "{}")
%>
typedef struct {
    ${space}const u32* rows;
    ${space}const u32* places;
    ${space}const i32x2* quanta;
} staged_t;

/* A piece has `size` entries; `first` and `last` are the features of the stretch's ends. */
typedef struct {
    staged_t entries;
    u32 size, first, last, next;
} staged_piece_t;

FN staged_piece_t piece_of(const staged_t all, const u32 span, const u32 first, const u32 last) {
    const u32 from = span & 0xFFFFu;
    staged_piece_t piece;
    piece.entries.rows = all.rows + from;
    piece.entries.places = all.places + from;
    piece.entries.quanta = all.quanta + from;
    piece.size = (span >> 16) - from;
    piece.first = first;
    piece.last = last;
    piece.next = NO_NODE;
    return piece;
}

FN u32 next_place(const staged_piece_t piece, const u32 number, const u32 n_stretches,
                  GLOBAL const u32* own_firsts, GLOBAL const u32* places${ends_argument}) {
    if (piece.size == 0) return NO_NODE;
    const u32 bin = ${bin_at.format("piece.entries.places[piece.size - 1]")};
    u32 found = NO_NODE;
    for (u32 other = number + 1; other < n_stretches && found == NO_NODE; other++) {
        if (${bin_at.format(f"places[other * {chunk}]")} != bin) break;
        found = own_firsts[other];
    }
    return ${"found == NO_NODE ? found : ends[found]" if bins == "tree" else "found"};
}

FN i64x2 quanta_of_staged(const staged_t entries, const u32 i, GLOBAL const i32x2* high, const u32 wide) {
    const i32x2 low = entries.quanta[i];
    i64 g = low.x, h = low.y;
    if (wide) {
        const i32x2 more = high[entries.rows[i]];
        g += (i64)more.x * 4294967296;
        h += (i64)more.y * 4294967296;
    }
    return MAKE_I64X2(g, h);
}
</%def>

## Each piece of the level's nodes of a tree: `index` of the node, its `task`. A work-group takes the pieces of a
## stretch one after the other; those of a stretch for which the condition `wanted` does not hold are left out, and
## places are there under the condition `places`.
<%def name="each_piece(wg_size, chunk, wanted, places)">
% for kind, name in (("u32", "rows"), ("u32", "places"), ("i32x2", "quanta")):
% if wg_size > 1:
    LOCAL_ARRAY(${kind}, staged_${name}, ${chunk});
% else:
    ${kind} staged_${name}[${chunk}];
% endif
% endfor
    staged_t staged;
    staged.rows = staged_rows;
    staged.places = staged_places;
    staged.quanta = staged_quanta;
    const u32 tree = GROUP_ID_Y, first = levels[step].first, count = levels[step].count;
    const u32 low = first_of_tree(nodes, first, count, tree), end = first_of_tree(nodes, first, count, tree + 1);
    const u32 wide = scale[tree].wide; /* only then rows are asked for */
    for (u32 number = first_group + GROUP_ID; number < n_stretches; number += n_groups) {
        const u32 begin = number * ${chunk};
        const u32 size = n_entries - begin < ${chunk} ? n_entries - begin : ${chunk};
        if (low < end${f" && {wanted}" if wanted else ""}) {
            const u32 f_begin = features[all_places[begin]], f_end = features[all_places[begin + size - 1]];
            for (u32 i = LOCAL_ID; i < size; i += ${wg_size}) {
                const u64 from = (u64)tree * n_entries + begin + i;
                const u32 at = ranks[from];
                if (wide) staged_rows[at] = all_rows[begin + i];
                ${f"if ({places}) " if places else ""}staged_places[at] = all_places[begin + i];
                staged_quanta[at] = all_quanta[from];
            }
            BARRIER();
            for (u32 index = low; index < end; index++) {
                const u32 task = index * n_stretches + number;
                ${caller.body()}
            }
            BARRIER();
        }
    }
</%def>
