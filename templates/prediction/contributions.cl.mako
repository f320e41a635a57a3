## contributions: quanta[block, place, row] += what every node of every tree adds to its feature, and to pairs of features
## uses: portable_math structs value_decision
## uses if categories: value_set_decision
##
##   A row goes down every path of a tree, not its own alone: without a feature it goes both ways. So all work-items
##   visit the same nodes. Products of factors go down, sums of leaves go up; docs/contributions.md has the rule.
##
##              p                  p = product of the factors above, at every point
##        p m_l   p m_r            down: times the factor of the side, which depends on the row's way
##         b_l     b_r             up: sums of the leaves below; the node adds c_l b_l + c_r b_r
##
##   A row's way at a node: 0 left, 1 right, 2 it has left the path by the same feature above (GONE).
##
##   lay_rows       values of a block of rows, one column after the other; see `laid_rows`
##   contributions  a work-item has `rows` rows; work-groups in y share the trees, each with quanta of its own
##   told_sums      each row's sums, added up over the work-groups in y; see `laid_rows`
##   finish_rows    their float64, and finish_lines those of interactions; see `finished_rows`
##   follow_paths   quanta += changes of the mean along each row's own path
##
## params: wg_size; rows, rows of a work-item; points, of the quadrature; levels, the loops that are nested, one for each
##         level of a tree, so that all is in registers, with rows == 1; 0: a stack in memory, for any depth;
##         interactions, pairs of features, too, in the places before the features; categories, splits may be by sets
<%namespace name="laid" file="laid_rows.cl.mako"/>
<%namespace name="finished" file="finished_rows.cl.mako"/>
<%namespace name="nested" file="nested_paths.cl.mako"/>
<%namespace name="stacked" file="stacked_paths.cl.mako"/>
<%page args="wg_size, rows, points, levels, interactions, categories"/>
<%
    block = wg_size * rows
    step_size = -(-2 * points // 4) * 4   # of a way and a side: factors, terms, padding
    apart_size = -(-points // 4) * 4
    sets_argument = " GLOBAL const u32* RESTRICT sets," if categories else ""
    apart_argument = " GLOBAL const u32x4* RESTRICT apart," if interactions else ""
%>
#define GONE 2u
#define NOT_BEFORE ${"31u" if levels else "0xFFFFFFu"} /* no node above has the same feature */

/* Round to the nearest integer, ties to even; from 2^23 on, floats are integers. */
FN i64 round_to_i64(const f32 x) {
    const f32 a = as_f32(as_u32(x) & 0x7FFFFFFFu);
    const f32 up = a + 8388608.0f;
    const f32 rounded = up - 8388608.0f;
    const i64 n = (i64)(a < 8388608.0f ? rounded : a);
    return x < 0.0f ? -n : n;
}

${laid.kernels(wg_size, rows, categories)}
${finished.kernels(wg_size, interactions)}
<% sets = ", sets" if categories else "" %>
% if not interactions:

/* changes[i] is the mean of node i less its parent's. */
KERNEL(${wg_size}) follow_paths(
        const u32 n_blocks, const u32 n_used, const u32 first_tree, const u32 n_trees, const u32 trees_each,
        const u32 n_levels, GLOBAL const u32x4* RESTRICT nodes,${sets_argument} GLOBAL const u32* RESTRICT tree_begin,
        GLOBAL const i64* RESTRICT changes, GLOBAL const f32* RESTRICT laid, GLOBAL i64* RESTRICT quanta) {
    const u32 first_here = first_tree + GROUP_ID_Y * trees_each;
    const u32 end_all = first_tree + n_trees;
    const u32 end_here = first_here + trees_each < end_all ? first_here + trees_each : end_all;
    GLOBAL i64* sums = quanta + (u64)GROUP_ID_Y * n_blocks * n_used * ${block};
    for (u64 block = GROUP_ID; block < n_blocks; block += N_GROUPS) {
        for (u32 item = 0; item < ${rows}; item++) {
            const u64 first = block * n_used * ${block} + item * ${wg_size} + LOCAL_ID;
            for (u32 tree = first_here; tree < end_here; tree++) {
                GLOBAL const u32x4* node = nodes + tree_begin[tree];
                GLOBAL const i64* change = changes + tree_begin[tree];
                u32 id = 0;
                for (u32 level = 0; level < n_levels && node[id].x; level++) {
                    const u64 place = first + (u64)node[id].y * ${block};
                    id = node[id].x + goes_right(laid[place], node + id${sets});
                    sums[place] += change[id];
                }
            }
        }
    }
}
% endif

/* n_sides is 2: with a constant, compilers would write the nested loops out, 2^levels times.
   steps[inner node, way, side] = factors of the points, then terms; apart[node, stays] = see PathFactors.told_apart */
KERNEL(${wg_size}) contributions(
        const u32 n_blocks, const u32 n_used, const u32 n_places, const u32 first_tree, const u32 n_trees,
        const u32 trees_each, const u32 ${"n_sides" if levels else "n_levels"}, GLOBAL const u32x4* RESTRICT nodes,${sets_argument}
        GLOBAL const u32* RESTRICT tree_begin, GLOBAL const f32* RESTRICT weights,
        GLOBAL const u32x4* RESTRICT steps,${apart_argument} GLOBAL const f32* RESTRICT laid,
${"" if levels else f"        GLOBAL f32* RESTRICT products, GLOBAL f32* RESTRICT lefts, GLOBAL u32* RESTRICT ways, GLOBAL u32* RESTRICT path,{chr(10)}"}\
        GLOBAL i64* RESTRICT quanta) {
    const u32 first_here = first_tree + GROUP_ID_Y * trees_each;
    const u32 end_all = first_tree + n_trees;
    const u32 end_here = first_here + trees_each < end_all ? first_here + trees_each : end_all;
    const u32 first_feature = n_places - n_used;
% if not levels:
    const u64 own = (u64)GROUP_ID_Y * N_GROUPS + GROUP_ID;
    GLOBAL f32* product = products + own * n_levels * ${points * block} + LOCAL_ID;
    GLOBAL f32* of_left = lefts + own * n_levels * ${points * block} + LOCAL_ID;
    GLOBAL u32* way = ways + own * n_levels * ${block} + LOCAL_ID;
    GLOBAL u32* ids = path + own * n_levels * ${3 * wg_size} + LOCAL_ID; /* of each level: node, side, hidden */
% endif
    for (u64 block = GROUP_ID; block < n_blocks; block += N_GROUPS) {
        GLOBAL const f32* x = laid + block * n_used * ${block} + LOCAL_ID;
        GLOBAL i64* sums = quanta + ((u64)GROUP_ID_Y * n_blocks + block) * n_places * ${block} + LOCAL_ID;
        for (u32 tree = first_here; tree < end_here; tree++) {
            const u64 begin = tree_begin[tree];
            GLOBAL const u32x4* node = nodes + begin;
            GLOBAL const u32x4* step = steps + (begin - tree) / 2 * ${6 * step_size // 4};
% if interactions:
            GLOBAL const u32x4* told = apart + begin * ${2 * apart_size // 4};
% endif
            if (!node->x) continue;
% if levels:
${nested.walk(block, points, levels, interactions, sets)}
% else:
${stacked.walk(block, wg_size, rows, points, interactions, sets)}
% endif
        }
    }
}
