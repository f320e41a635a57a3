## walk_cells: margins[cell, row] += leaf value of every tree, where cells replace a few features of a row
## uses: portable_math structs value_decision
## uses if categories: value_set_decision
##
##   A row is predicted for 32 cells. A cell is a value for each of a few features. Nodes that split on
##   these features have BY_CELL in `default_left`, and the bits of `number` say which mask is theirs: bit
##   c of masks[chunk, mask] says that cell c goes left. Other nodes read the row.
##   All cells begin at the root. Where cells part, the walk follows the first one, with those that go its
##   way; the others begin again:
##
##       cells 0 .. 31       1st walk: cells 0 .. 8        waiting: cells 9 .. 31
##                           2nd walk: cells 9 .. 31       waiting: none
##
##   margins   chunk, row, cell: the 32 margins of a row lie together
##   rows = 1  a work-item walks all trees for a row, with the margins in local memory
##   rows > 1  for CPUs: a block of rows walks a tree, then the next tree
##
## params: wg_size; rows, rows of a work-item; categories, splits may be by sets of codes
<%page args="wg_size, rows, categories"/>
<%
    sets_argument = " GLOBAL const u32* RESTRICT sets," if categories else ""
%>
#define BY_CELL 4u

KERNEL(${wg_size}) walk_cells(
        const u64 n_rows, const u32 n_features, const u32 n_masks, const u32 first_tree, const u32 n_trees,
        const u32 longest, GLOBAL const f32* RESTRICT values, GLOBAL const walk_t* RESTRICT nodes,${sets_argument}
        GLOBAL const u32* RESTRICT tree_begin, GLOBAL const u32* RESTRICT masks, GLOBAL f32* RESTRICT margins) {
% if rows == 1:
    LOCAL_ARRAY(f32, kept, ${32 * wg_size});
    LOCAL f32* margin = kept + LOCAL_ID;
% endif
    const u64 first = ((u64)GROUP_ID * ${wg_size} + LOCAL_ID) * ${rows};
    if (first >= n_rows) return;
    masks += (u64)GROUP_ID_Y * n_masks;
    margins += ((u64)GROUP_ID_Y * n_rows + first) * 32;
% if rows > 1:
    const u32 n_own = n_rows - first < ${rows} ? (u32)(n_rows - first) : ${rows};
% else:
    for (u32 c = 0; c < 32; c++) margin[c * ${wg_size}] = margins[c];
    GLOBAL const f32* x = values + first * n_features;
% endif
    IN_ORDER
    for (u32 tree = first_tree; tree < first_tree + n_trees; tree++) {
        GLOBAL const walk_t* node = nodes + tree_begin[tree];
% if rows > 1:
        for (u32 row = 0; row < n_own; row++) {
        GLOBAL const f32* x = values + (first + row) * n_features;
        GLOBAL f32* margin = margins + row * 32;
% endif
        u32 waiting = 0xFFFFFFFFu;
        IN_ORDER
        while (waiting) { /* a walk ends with a cell or more, so at most 32 times */
            const u32 first_cell = waiting & (0u - waiting);
            u32 together = waiting;
            GLOBAL const walk_t* at = node;
            for (u32 step_count = 0; at->left && step_count < longest; step_count++) {
                u32 left;
                if (at->default_left & BY_CELL) {
                    const u32 lefts = masks[as_u32(at->number)];
                    left = (lefts & first_cell) != 0;
                    together &= left ? lefts : ~lefts;
                } else {
% if categories:
                    left = walk_goes_left(x[at->feature], at, sets);
% else:
                    left = value_goes_left(x[at->feature], at->number, at->default_left);
% endif
                }
                at = node + at->left + 1 - left;
            }
            const f32 value = at->number;
% if rows > 1:
            for (u32 c = 0; c < 32; c++) margin[c] = together >> c & 1 ? margin[c] + value : margin[c];
% else:
            for (u32 rest = together; rest; rest &= rest - 1) {
                const u32 place = POPCOUNT((rest & (0u - rest)) - 1) * ${wg_size};
                margin[place] = margin[place] + value;
            }
% endif
            waiting &= ~together;
        }
% if rows > 1:
        }
% endif
    }
% if rows == 1:
    for (u32 c = 0; c < 32; c++) margins[c] = margin[c * ${wg_size}];
% endif
}
