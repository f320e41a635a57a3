## contribution_tables: quanta[block, place, row] += what every node adds, for trees whose levels have one split each
## uses: portable_math structs value_decision
## uses if categories: value_set_decision
##
##   Where all nodes of a level have the same split, a row's contributions follow from its side at every level: 2^depth
##   patterns. A table has their sums, made once by the rule of `contributions`; a row adds up one line of each table.
##
##   pattern   bit of the first split, then of the second, ..: the highest bit is the first one
##   table     |the tree's first feature: of all patterns|its second feature: ..|
##
##   lay_rows, told_sums, finish_rows  as in `contributions`
##
## params: wg_size; rows, rows of a work-item; categories, splits may be by sets of codes
<%namespace name="laid" file="laid_rows.cl.mako"/>
<%namespace name="finished" file="finished_rows.cl.mako"/>
<%page args="wg_size, rows, categories"/>
<%
    block = wg_size * rows
    each = f"for (u32 r = 0; r < {rows}; r++)"
    sets = ", sets" if categories else ""
%>
${laid.kernels(wg_size, rows, categories)}
${finished.kernels(wg_size, False)}
/* shapes[tree] = (first split, number of splits, first of its features, number of its features);
   splits[i] = (0, feature, default_left, border): walk_t; features: of each tree, by their places */
KERNEL(${wg_size}) contribution_tables(
        const u32 n_blocks, const u32 n_used, const u32 first_tree, const u32 n_trees, const u32 trees_each,
        GLOBAL const u32x4* RESTRICT shapes, GLOBAL const u32x4* RESTRICT splits,
        ${"GLOBAL const u32* RESTRICT sets, " if categories else ""}GLOBAL const u32* RESTRICT features, GLOBAL const u64* RESTRICT first_sums,
        GLOBAL const i64* RESTRICT tables, GLOBAL const f32* RESTRICT laid, GLOBAL i64* RESTRICT quanta) {
    const u32 first_here = first_tree + GROUP_ID_Y * trees_each;
    const u32 end_all = first_tree + n_trees;
    const u32 end_here = first_here + trees_each < end_all ? first_here + trees_each : end_all;
    for (u64 block = GROUP_ID; block < n_blocks; block += N_GROUPS) {
        GLOBAL const f32* x = laid + block * n_used * ${block} + LOCAL_ID;
        GLOBAL i64* sums = quanta + ((u64)GROUP_ID_Y * n_blocks + block) * n_used * ${block} + LOCAL_ID;
        for (u32 tree = first_here; tree < end_here; tree++) {
            const u32x4 shape = shapes[tree];
            GLOBAL const i64* table = tables + first_sums[tree];
            u32 pattern[${rows}];
            ${each} pattern[r] = 0;
            for (u32 level = 0; level < shape.y; level++) {
                GLOBAL const u32x4* split = splits + shape.x + level;
                GLOBAL const f32* value = x + (u64)split->y * ${block};
                ${each} pattern[r] = 2 * pattern[r] + goes_right(value[r * ${wg_size}], split${sets});
            }
            for (u32 i = 0; i < shape.w; i++) {
                GLOBAL i64* sum = sums + (u64)features[shape.z + i] * ${block};
                ${each} sum[r * ${wg_size}] += table[(i << shape.y) + pattern[r]];
            }
        }
    }
}
