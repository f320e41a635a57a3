## predict_tables: margin[row] += value of every tree, in the order of the trees, for trees that are tables
## uses: portable_math value_decision
## uses if categories: set_keys
##
##   encode          every value becomes a code; see `value_codes`
##   predict_tables  a tree's splits give the bits of a row's place among the tree's values
##
##   place     bit of the first split, then of the second, ..: the highest bit is the first one
##
## params: wg_size; rows, rows of a work-item; code, the type of codes; index, the type of places;
##         categories, splits may be by sets
<%namespace name="value_codes" file="value_codes.cl.mako"/>
<%page args="wg_size, rows, code, index, categories"/>

${value_codes.encode(wg_size, rows, code, categories)}
/* shapes[tree] = (first split, number of splits, first value). The border of a split has the type of codes,
   so that PoCL compares codes in vectors of this type. split_sets: where the set of a split begins, or NO_SET. */
% if categories:
#define NO_SET 0xFFFFFFFFu
% endif
KERNEL(${wg_size}) predict_tables(
        const u64 n_rows, const u32 n_columns, const u32 first_tree, const u32 n_trees,
        GLOBAL const u32* RESTRICT shapes, GLOBAL const u32* RESTRICT split_columns,
        GLOBAL const ${code}* RESTRICT split_borders, GLOBAL const f32* RESTRICT leaves, GLOBAL const ${code}* RESTRICT codes,
        ${"GLOBAL const u32* RESTRICT split_sets, GLOBAL const u32* RESTRICT sets, " if categories else ""}GLOBAL f32* RESTRICT margins) {
    for (u64 block = GROUP_ID; block * ${wg_size * rows} < n_rows; block += N_GROUPS) {
        const u64 first = block * ${wg_size * rows} + LOCAL_ID;
        GLOBAL const ${code}* own = codes + block * n_columns * ${wg_size * rows} + LOCAL_ID;
        f32 sum[${rows}];
        for (u32 row = 0; row < ${rows}; row++)
            sum[row] = first + row * ${wg_size} < n_rows ? margins[first + row * ${wg_size}] : 0.0f;
        for (u32 tree = first_tree; tree < first_tree + n_trees; tree++) {
            const u64 split = shapes[3 * (u64)tree];
            GLOBAL const f32* leaf = leaves + shapes[3 * (u64)tree + 2];
            ${index} place[${rows}];
            for (u32 row = 0; row < ${rows}; row++) place[row] = 0;
            for (u32 level = 0; level < shapes[3 * (u64)tree + 1]; level++) {
                GLOBAL const ${code}* of_column = own + (u64)split_columns[split + level] * ${wg_size * rows};
                const ${code} border = split_borders[split + level];
% if categories:
                const u32 begin = split_sets[split + level];
                if (begin != NO_SET) {
                    GLOBAL const u32* bits = sets + begin;
                    for (u32 row = 0; row < ${rows}; row++)
                        place[row] = (${index})(2 * place[row] + key_goes_right(bits, of_column[row * ${wg_size}]));
                } else
% endif
                for (u32 row = 0; row < ${rows}; row++)
                    place[row] = (${index})(2 * place[row] + (of_column[row * ${wg_size}] > border));
            }
            for (u32 row = 0; row < ${rows}; row++) sum[row] += leaf[place[row]];
        }
        for (u32 row = 0; row < ${rows}; row++)
            if (first + row * ${wg_size} < n_rows) margins[first + row * ${wg_size}] = sum[row];
    }
}
