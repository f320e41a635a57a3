## pieces_of_nodes: arguments of kernels that read the entries of nodes, and a loop over their pieces; other
##                  templates import these defs

<%def name="list_arguments()">
        GLOBAL const u32* RESTRICT task_begin, GLOBAL const u32* RESTRICT entry_begin,
        GLOBAL const u32* RESTRICT entry_end, GLOBAL const u32* RESTRICT all_rows,
        GLOBAL const u32* RESTRICT all_places, GLOBAL const i32x2* all_quanta,
        GLOBAL const u32* even_rows, GLOBAL const u32* even_places, GLOBAL const i32x2* even_quanta,
        GLOBAL const u32* odd_rows, GLOBAL const u32* odd_places, GLOBAL const i32x2* odd_quanta
</%def>

<%def name="lists(interleaved=False)">
    const entries_t every = entry_list(all_rows, all_places, all_quanta);
% if not interleaved:
    const entries_t even = entry_list(even_rows, even_places, even_quanta);
    const entries_t odd = entry_list(odd_rows, odd_places, odd_quanta);
% endif
</%def>

<%def name="piece_of(chunk)">
FN piece_t piece_of(GLOBAL const node_t* node, const u32 id, const u32 number, const u32 n_entries,
                    GLOBAL const u32* entry_begin, GLOBAL const u32* entry_end,
                    const entries_t every, const entries_t even, const entries_t odd) {
    piece_t piece;
    piece.begin = entry_begin[id] + number * ${chunk};
    const u32 left = entry_end[id] - piece.begin;
    piece.size = left < ${chunk} ? left : ${chunk};
    piece.behind = left - piece.size;
    piece.entries = entries_at(node, piece.begin, n_entries, every, even, odd);
    return piece;
}
</%def>

## Of pieces that are interleaved, see `interleaved`.
<%def name="stretch_arguments()">
        GLOBAL const u32* RESTRICT task_begin, const u32 n_stretches, GLOBAL const u16* RESTRICT order,
        GLOBAL const u32* RESTRICT spans, GLOBAL const u32* RESTRICT all_rows,
        GLOBAL const u32* RESTRICT all_places, GLOBAL const i32x2* RESTRICT all_quanta
</%def>

<%def name="piece_of_stretch(chunk)">
FN piece_t piece_of(const u32 tree, const u32 number, const u32 span, const u32 n_entries,
                    GLOBAL const u16* order, const entries_t every) {
    const u32 at = number * ${chunk};
    const u64 first = (u64)tree * n_entries + at;
    piece_t piece;
    piece.stretch = n_entries - at < ${chunk} ? n_entries - at : ${chunk};
    piece.size = (span >> 16) - (span & 0xFFFFu);
    piece.behind = 0;
    piece.begin = 0; /* never read */
    piece.next = NO_NODE;
    piece.order = order + first + (span & 0xFFFFu);
    piece.entries.rows = every.rows + at;
    piece.entries.places = every.places + at;
    piece.entries.quanta = every.quanta + first;
    return piece;
}
</%def>

## The node's entry behind a piece is looked for while the bin of the piece's last entry goes on.
<%def name="next_of_stretch(chunk, bins)">
<%
    ends_argument, bin_at = (", GLOBAL const u32* ends", "ends[places[{}]]") if bins == "tree" else ("", "places[{}]")
%>
FN u32 next_place(const piece_t piece, const u32 number, const u32 n_stretches, const u32 n_entries,
                  GLOBAL const u16* own_order, GLOBAL const u32* own_spans, GLOBAL const u32* places${ends_argument}) {
    if (piece.size == 0) return NO_NODE;
    const u32 bin = ${bin_at.format(f"number * {chunk} + piece.order[piece.size - 1]")};
    u32 found = NO_NODE;
    for (u32 other = number + 1; other < n_stretches && found == NO_NODE; other++) {
        const u32 at = other * ${chunk}, span = own_spans[other], from = span & 0xFFFFu;
        if (${bin_at.format("at")} != bin) break;
        if (span >> 16 > from) found = ${bin_at.format("at + own_order[at + from]")};
    }
    return found;
}
</%def>
