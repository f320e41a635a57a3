## pieces_of_nodes: arguments of kernels that read the entries of nodes, and where a piece of these is; other
##                  templates import these defs

## `of_roots`: roots' quanta have an argument of their own; if not, they are in the even list.
<%def name="list_arguments(of_roots=True)">
        GLOBAL const u32* RESTRICT task_begin, GLOBAL const u32* RESTRICT entry_begin,
        GLOBAL const u32* RESTRICT entry_end, GLOBAL const u32* RESTRICT all_rows,
        GLOBAL const u32* RESTRICT all_places,
% if of_roots:
        GLOBAL const i32x2* all_quanta,
% endif
        GLOBAL const u32* even_rows, GLOBAL const u32* even_places, GLOBAL const i32x2* even_quanta,
        GLOBAL const u32* odd_rows, GLOBAL const u32* odd_places, GLOBAL const i32x2* odd_quanta
</%def>

<%def name="lists(of_roots=True)">
    const entries_t every = entry_list(all_rows, all_places, ${"all" if of_roots else "even"}_quanta);
    const entries_t even = entry_list(even_rows, even_places, even_quanta);
    const entries_t odd = entry_list(odd_rows, odd_places, odd_quanta);
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
