## predict: margin[row] += leaf value of every tree, in the order of the trees
## uses: portable_math structs value_decision
## uses if categories: value_set_decision set_keys
##
##   nodes has all trees, one after the other; tree t begins at tree_begin[t]; ids count within a tree
##
##   predict         a work-item walks all trees for a row, then for its next row
##   if rows > 0, for CPUs:
##   lay_out         store every tree as a perfect tree of `levels` levels, so that no step has a branch
##   predict_blocks  a block of `rows` rows walks a tree, then the next tree. First it maps their values
##                   to ordered integers, one column after the other
##
##   A perfect tree of 2 levels, with places of nodes and ends:          2
##   place p has the children 2 p - 1 and 2 p, so a step is           3     4
##   p = 2 p - (key < the node's key): two instructions              5 6   7 8
##   A leaf above the last level sends all rows to the left. If a tree is deeper than `levels`, at most
##   `behind` more steps go from node to node; leaves point to themselves.
##
##   Values are compared as ordered integers, so a device that flushes subnormals decides alike. A
##   missing value's key is below or above all others. A feature may have two columns: one for nodes
##   that send missing values to the left, one for the others. A walk ends after `longest` steps, even if
##   the nodes are damaged.
##
## params: wg_size; items, rows of a work-item of `predict`; rows, rows of a block, a multiple of 8, or
##   0 for `predict` alone; categories, splits may be by sets of codes: in blocks, see set_keys.h
<%page args="wg_size, items, rows, categories"/>
<%
    sets_argument = " GLOBAL const u32* RESTRICT sets," if categories else ""

    def goes_left(r, key):
        """Whether row `r` of those in turn goes left."""
        if categories:
            return f"goes_left_by(x_row[(column_{r} & ~(u64)COLUMN_OF_SETS) + {r}], column_{r}, {key}, sets)"
        return f"key_goes_left(x_row[column_{r} + {r}], {key})"
%>

KERNEL(${wg_size}) predict(
        const u64 n_rows, const u64 first_row, const u32 n_features, const u32 first_output, const u32 first_tree,
        const u32 n_trees, const u32 longest, GLOBAL const f32* RESTRICT values,
        GLOBAL const walk_t* RESTRICT nodes,${sets_argument}
        GLOBAL const u32* RESTRICT tree_begin, GLOBAL f32* RESTRICT margins) {
    const u32 begin = first_tree + GROUP_ID_Y * n_trees; /* all outputs have the same number of trees */
    margins += (first_output + GROUP_ID_Y) * n_rows;
    for (u32 item = 0; item < ${items}; item++) {
        const u64 row = first_row + ((u64)GROUP_ID * ${items} + item) * ${wg_size} + LOCAL_ID;
        if (row >= n_rows) return;
        GLOBAL const f32* x = values + row * n_features;
        f32 margin = margins[row];
        IN_ORDER
        for (u32 tree = begin; tree < begin + n_trees; tree++) {
            GLOBAL const walk_t* node = nodes + tree_begin[tree];
            GLOBAL const walk_t* at = node;
            for (u32 step_count = 0; at->left && step_count < longest; step_count++) {
% if categories:
                const u32 left = walk_goes_left(x[at->feature], at, sets);
% else:
                const u32 left = value_goes_left(x[at->feature], at->number, at->default_left);
% endif
                at = node + at->left + 1 - left;
            }
            margin += at->number;
        }
        margins[row] = margin;
    }
}
% if rows:
<% together = range(8) %>
/* shapes[tree] = (first place, levels, behind)
   tops[place] = (the column's offset in a block, key)
   ends[place] = bits of a leaf's value, or the node from which the walk goes on
   ways[node] = (left child, the column's offset in a block, key, bits of the value), only for trees
   with behind > 0 */
% if categories:
/* The offset of a node's column in a block, marked if its split is by a set. */
FN u32 column_offset(const walk_t node, GLOBAL const u32* column_of, const u32 n_features) {
    const u32 by_set = node.default_left & WALK_BY_SET;
    const u32 column = 2 * node.feature + (node.default_left & 1) + (by_set ? 2 * n_features : 0);
    return column_of[column] * ${rows} | (by_set ? COLUMN_OF_SETS : 0);
}

/* The number that decides: a border, or where the set begins. */
FN u32 number_of(const walk_t node) {
    return node.default_left & WALK_BY_SET ? as_u32(node.number) : ordered(node.number);
}
% endif
KERNEL(${wg_size}) lay_out(
        const u32 n_trees,${" const u32 n_features," if categories else ""} GLOBAL const walk_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT tree_begin, GLOBAL const u32* RESTRICT shapes,
        GLOBAL const u32* RESTRICT column_of, GLOBAL u32* RESTRICT tops, GLOBAL u32* RESTRICT ends,
        GLOBAL u32* RESTRICT ways) {
    const u64 tree = GLOBAL_ID;
    if (tree >= n_trees) return;
    GLOBAL const walk_t* node = nodes + tree_begin[tree];
    GLOBAL u32* top = tops + 2 * (u64)shapes[3 * tree];
    GLOBAL u32* end = ends + shapes[3 * tree];
    const u32 n_ends = 1u << shapes[3 * tree + 1];
    const u32 behind = shapes[3 * tree + 2];
    top[5] = 0; /* until a node is visited, its id is stored instead of its key */
    for (u64 place = 2; place <= n_ends; place++) {
        const u32 id = top[2 * place + 1];
        const u32 left = node[id].left;
% if categories:
        top[2 * place] = left ? column_offset(node[id], column_of, n_features) : 0;
        top[2 * place + 1] = left ? number_of(node[id]) : ABOVE_ALL;
% else:
        top[2 * place] = left ? column_of[2 * node[id].feature + node[id].default_left] * ${rows}
                              : 0;
        top[2 * place + 1] = left ? ordered(node[id].number) : ABOVE_ALL;
% endif
        for (u32 side = 0; side < 2; side++) {
            const u64 child = 2 * place - 1 + side;
            const u32 child_id = left ? left + side : id;
            if (child <= n_ends) top[2 * child + 1] = child_id;
            else end[child - n_ends - 1] = behind ? child_id : as_u32(node[child_id].number);
        }
    }
    if (!behind) return;
    GLOBAL u32* way = ways + 4 * (u64)tree_begin[tree];
    const u32 n_nodes = tree_begin[tree + 1] - tree_begin[tree];
    for (u32 id = 0; id < n_nodes; id++) {
        const u32 left = node[id].left;
        way[4 * (u64)id] = left ? left : id;
% if categories:
        way[4 * (u64)id + 1] = left ? column_offset(node[id], column_of, n_features) : 0;
        way[4 * (u64)id + 2] = left ? number_of(node[id]) : ABOVE_ALL;
% else:
        const u32 column = 2 * node[id].feature + node[id].default_left;
        way[4 * (u64)id + 1] = left ? column_of[column] * ${rows} : 0;
        way[4 * (u64)id + 2] = left ? ordered(node[id].number) : ABOVE_ALL;
% endif
        way[4 * (u64)id + 3] = as_u32(node[id].number);
    }
}

/* columns[column] = 2 * feature + (missing goes left); keys[work-item, column, row of its block] */
KERNEL(${wg_size}) predict_blocks(
        const u64 n_rows, const u32 n_features, const u32 n_columns, const u32 first_tree,
        const u32 n_trees, GLOBAL const f32* RESTRICT values, GLOBAL const u32* RESTRICT columns,
        GLOBAL const u32* RESTRICT tree_begin, GLOBAL const u32* RESTRICT shapes,
        GLOBAL const u32* RESTRICT tops, GLOBAL const u32* RESTRICT ends,
        GLOBAL const u32* RESTRICT ways,${" GLOBAL const u32* RESTRICT n_codes," + sets_argument if categories else ""}
        GLOBAL u32* RESTRICT keys, GLOBAL f32* RESTRICT margins) {
    GLOBAL u32* x = keys + GLOBAL_ID * n_columns * ${rows};
    u32 at[${rows}];
    f32 sum[${rows}];
    for (u64 first = GLOBAL_ID * ${rows}; first < n_rows;
         first += (u64)N_GROUPS * ${wg_size * rows}) {
        const u32 here = n_rows - first < ${rows} ? (u32)(n_rows - first) : ${rows};
        for (u32 column = 0; column < n_columns; column++) {
            const u32 default_left = columns[column] & 1;
            GLOBAL u32* key = x + (u64)column * ${rows};
% if categories:
            const u32 of_sets = columns[column] & COLUMN_OF_SETS;
            GLOBAL const f32* value = values + first * n_features + ((columns[column] - of_sets) >> 1);
            for (u32 row = 0; row < here && of_sets; row++)
                key[row] = set_key(value[(u64)row * n_features], default_left, n_codes[column]);
            for (u32 row = 0; row < here && !of_sets; row++)
% else:
            GLOBAL const f32* value = values + first * n_features + (columns[column] >> 1);
            for (u32 row = 0; row < here; row++)
% endif
                key[row] = value_key(value[(u64)row * n_features], default_left);
            for (u32 row = here; row < ${rows}; row++) key[row] = 0;
        }
        for (u32 row = 0; row < ${rows}; row++) sum[row] = 0.0f;
        for (u32 row = 0; row < here; row++) sum[row] = margins[first + row];
        for (u32 tree = first_tree; tree < first_tree + n_trees; tree++) {
            const u64 first_place = shapes[3 * (u64)tree];
            const u32 levels = shapes[3 * (u64)tree + 1];
            const u32 behind = shapes[3 * (u64)tree + 2];
            GLOBAL const u32* top = tops + 2 * first_place;
            /* the first two levels together, vectorised: all rows read the same three nodes */
% for place in (2, 3, 4):
            GLOBAL const u32* x_${place} = x + ${f"(top[{2 * place}] & ~COLUMN_OF_SETS)" if categories else f"top[{2 * place}]"};
% endfor
            const u32 key_2 = top[5], key_3 = top[7], key_4 = top[9];
% if categories:
            const u32 column_2 = top[4], column_3 = top[6], column_4 = top[8];
% endif
            for (u32 row = 0; row < ${rows}; row++) {
% if categories:
                const u32 left = goes_left_by(x_2[row], column_2, key_2, sets);
                const u32 left_3 = goes_left_by(x_3[row], column_3, key_3, sets);
                const u32 left_4 = goes_left_by(x_4[row], column_4, key_4, sets);
% else:
                const u32 left = key_goes_left(x_2[row], key_2);
                const u32 left_3 = key_goes_left(x_3[row], key_3);
                const u32 left_4 = key_goes_left(x_4[row], key_4);
% endif
                at[row] = 8 - 2 * left - (left ? left_3 : left_4);
            }
            /* several rows in turn, so that their loads overlap; 64-bit places need no sign extension */
            const u64 first_end = first_place - ((u64)1 << levels) - 1;
            for (u32 row = 0; row < ${rows}; row += ${len(together)}) {
                GLOBAL const u32* x_row = x + row;
                u32* at_row = at + row;
% for r in together:
                u64 at_${r} = at_row[${r}];
% endfor
                for (u32 level = 2; level < levels; level++) {
% for r in together:
                    const u64 column_${r} = top[2 * at_${r}];
                    at_${r} = 2 * at_${r}
                        - (u64)${goes_left(r, f"top[2 * at_{r} + 1]")};
% endfor
                }
% for r in together:
                at_row[${r}] = ends[first_end + at_${r}];
% endfor
            }
            if (behind) {
                GLOBAL const u32* way = ways + 4 * (u64)tree_begin[tree];
                for (u32 row = 0; row < ${rows}; row += ${len(together)}) {
                    GLOBAL const u32* x_row = x + row;
                u32* at_row = at + row;
% for r in together:
                    u64 at_${r} = at_row[${r}];
% endfor
                    u64 moved = 1;
                    for (u32 step_count = 0; moved && step_count < behind; step_count++) {
                        moved = 0;
% for r in together:
                        const u64 column_${r} = way[4 * at_${r} + 1];
                        const u64 to_${r} = (u64)way[4 * at_${r}] + 1
                            - (u64)${goes_left(r, f"way[4 * at_{r} + 2]")};
                        moved |= to_${r} ^ at_${r};
                        at_${r} = to_${r};
% endfor
                    }
% for r in together:
                    at_row[${r}] = way[4 * at_${r} + 3];
% endfor
                }
            }
            for (u32 row = 0; row < ${rows}; row++) sum[row] += as_f32(at[row]);
        }
        for (u32 row = 0; row < here; row++) margins[first + row] = sum[row];
    }
}
% endif
