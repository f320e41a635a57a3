## predict_codes: margin[row] += leaf value of every tree, in the order of the trees, for rows of codes
## uses: portable_math value_decision
##
##   encode         every value becomes a code; see `value_codes`
##   predict_codes  a block of rows walks a tree, then the next tree; a row stays a few bytes long
##
##   A tree is stored as a perfect tree of `levels` levels, `top` at least, as `predict` stores it: the
##   children of place p are 2 p - 1 and 2 p. Its walk has three parts:
##
##     top      all nodes of the first levels are decided for all rows, in vectors of codes, from below:
##              a node's answer is that of its left or right child. `parts` subtrees, then what is above
##              them, so that the borders of a part stay in registers
##     levels   step by step, 8 rows in turn: p = 2 p - (code < border + 1)
##     behind   where a tree is deeper than `levels`: at most `behind` more steps from node to node
##
##   A leaf above the last level sends all rows to the left.
##
## params: wg_size; rows, rows of a work-item, a multiple of 8; code, the type of codes
<%namespace name="value_codes" file="value_codes.cl.mako"/>
<%page args="wg_size, rows, code"/>
<%
    together = range(8)
    top, below = 6, 4 #: levels of the top, and of its parts
    parts = 2 ** (top - below)

    def nodes_of(part):
        """Nodes of a part, the lowest first: its number in the part, in the tree, and its level."""
        for node in range(2**below - 1, 0, -1):
            level = node.bit_length() - 1
            yield node, (parts + part << level) + node - (1 << level), level
%>
${value_codes.encode(wg_size, rows, code, False)}

/* Which node of level `below` of a part each row reaches, in place[row]. */
% for part in range(parts):
FN void decide_part_${part}(GLOBAL const ${code}* RESTRICT own, GLOBAL const u32* RESTRICT top,
                     GLOBAL const ${code}* RESTRICT borders, u8* place) {
% for node, of_tree, level in nodes_of(part):
    GLOBAL const ${code}* x_${node} = own + top[${2 * of_tree + 2}];
    const ${code} border_${node} = borders[${of_tree}];
% endfor
    for (u32 row = 0; row < ${rows}; row++) {
% for node, of_tree, level in nodes_of(part):
        const u32 right_${node} = x_${node}[row * ${wg_size}] > border_${node};
% if level == below - 1:
        const u8 at_${node} = (u8)right_${node};
% else:
        const u8 at_${node} = (u8)(right_${node} ? at_${2 * node + 1} | ${1 << below - 1 - level} : at_${2 * node});
% endif
% endfor
        place[row] = at_1${f" | {part << below}" if part else ""};
    }
}
% endfor

/* shapes[tree] = (first place, levels, behind)
   tops[place] = (the column's offset in a block, border + 1)
   firsts[tree] = borders of the top's nodes, numbered 1, 2 3, 4 5 6 7, ..
   ends[place] = bits of a leaf's value, or the node from which the walk goes on
   ways[node] = (left child, the column's offset in a block, border + 1, bits of the value), only for
   trees with behind > 0 */
KERNEL(${wg_size}) predict_codes(
        const u64 n_rows, const u32 n_columns, const u32 first_tree, const u32 n_trees,
        GLOBAL const u32* RESTRICT tree_begin, GLOBAL const u32* RESTRICT shapes,
        GLOBAL const u32* RESTRICT tops, GLOBAL const ${code}* RESTRICT firsts,
        GLOBAL const u32* RESTRICT ends, GLOBAL const u32* RESTRICT ways,
        GLOBAL const ${code}* RESTRICT codes, GLOBAL f32* RESTRICT margins) {
    for (u64 block = GROUP_ID; block * ${wg_size * rows} < n_rows; block += N_GROUPS) {
        const u64 first = block * ${wg_size * rows} + LOCAL_ID;
        GLOBAL const ${code}* own = codes + block * n_columns * ${wg_size * rows} + LOCAL_ID;
        u8 ${", ".join(f"place_{part}[{rows}]" for part in range(parts))};
        u32 at[${rows}];
        f32 sum[${rows}];
        for (u32 row = 0; row < ${rows}; row++)
            sum[row] = first + row * ${wg_size} < n_rows ? margins[first + row * ${wg_size}] : 0.0f;
        for (u32 tree = first_tree; tree < first_tree + n_trees; tree++) {
            const u64 first_place = shapes[3 * (u64)tree];
            const u32 levels = shapes[3 * (u64)tree + 1];
            const u32 behind = shapes[3 * (u64)tree + 2];
            GLOBAL const u32* top = tops + 2 * first_place;
            GLOBAL const ${code}* borders = firsts + ${2**top} * (u64)tree;
% for part in range(parts):
            decide_part_${part}(own, top, borders, place_${part});
% endfor
% for node in range(1, parts):
            GLOBAL const ${code}* x_${node} = own + top[${2 * node + 2}];
            const ${code} border_${node} = borders[${node}];
% endfor
            for (u32 row = 0; row < ${rows}; row++) {
% for part in range(parts):
                const u8 at_${parts + part} = place_${part}[row]; /* a load in a branch would not be vectorised */
% endfor
% for node in reversed(range(1, parts)):
                const u8 at_${node} = x_${node}[row * ${wg_size}] > border_${node} ? at_${2 * node + 1} : at_${2 * node};
% endfor
                place_0[row] = at_1;
            }
            /* several rows in turn, so that their loads overlap; 64-bit places need no sign extension */
            const u64 first_end = first_place - ((u64)1 << levels) - 1;
            for (u32 row = 0; row < ${rows}; row += ${len(together)}) {
                GLOBAL const ${code}* x_row = own + row * ${wg_size};
                u32* at_row = at + row;
% for r in together:
                u64 at_${r} = ${2**top + 1} + (u64)place_0[row + ${r}];
% endfor
                for (u32 level = ${top}; level < levels; level++) {
% for r in together:
                    const u64 column_${r} = top[2 * at_${r}];
                    at_${r} = 2 * at_${r} - (u64)((u32)x_row[column_${r} + ${r * wg_size}] < top[2 * at_${r} + 1]);
% endfor
                }
% for r in together:
                at_row[${r}] = ends[first_end + at_${r}];
% endfor
            }
            GLOBAL const u32* way = ways + 4 * (u64)tree_begin[tree];
            for (u32 row = 0; row < ${rows} && behind; row++) {
                u64 node = at[row];
                u64 moved = 1;
                for (u32 step_count = 0; moved && step_count < behind; step_count++) {
                    const u64 column = way[4 * node + 1];
                    const u64 to = (u64)way[4 * node] + 1
                        - (u64)((u32)own[column + row * ${wg_size}] < way[4 * node + 2]);
                    moved = to ^ node;
                    node = to;
                }
                at[row] = way[4 * node + 3];
            }
            for (u32 row = 0; row < ${rows}; row++) sum[row] += as_f32(at[row]);
        }
        for (u32 row = 0; row < ${rows}; row++)
            if (first + row * ${wg_size} < n_rows) margins[first + row * ${wg_size}] = sum[row];
    }
}
