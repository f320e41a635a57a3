## value_codes: replace every value by a code: the number of its column's borders at or below it;
##              `predict_tables` and `predict_codes` import this kernel
##
##   borders   |a < b < c|      codes 0 .. 3     a split at border b sends codes above 1 to the right
##   codes     |block 0: column 0, column 1, ..|block 1: ..|     a block has wg_size * rows rows
##
##   Values are compared as ordered integers, and a feature may have two columns, as in `predict`. The
##   borders of a column are filled up to 2^steps - 1 with numbers above all keys.
##
##   A column whose splits are by sets of levels has keys as codes, and no borders: see set_keys.h.

<%def name="encode(wg_size, rows, code, categories)">
/* columns[column] = 2 * feature + (missing goes left); border_begin, steps: of each column; n_codes: levels
   that have bits in the column's sets, 0 in a column of numbers */
KERNEL(${wg_size}) encode(
        const u64 n_rows, const u32 n_features, const u32 n_columns,
        GLOBAL const f32* RESTRICT values, GLOBAL const u32* RESTRICT columns,
        GLOBAL const u32* RESTRICT border_begin, GLOBAL const u32* RESTRICT steps,
        GLOBAL const u32* RESTRICT borders,${" GLOBAL const u32* RESTRICT n_codes," if categories else ""}
        GLOBAL ${code}* RESTRICT codes) {
    for (u64 block = GROUP_ID; block * ${wg_size * rows} < n_rows; block += N_GROUPS) {
        const u64 first = block * ${wg_size * rows} + LOCAL_ID;
        GLOBAL ${code}* own = codes + block * n_columns * ${wg_size * rows} + LOCAL_ID;
        for (u32 column = 0; column < n_columns; column++) {
            GLOBAL const f32* value = values + (${"(columns[column] & ~COLUMN_OF_SETS)" if categories else "columns[column]"} >> 1);
            GLOBAL const u32* border = borders + border_begin[column];
            const u32 default_left = columns[column] & 1;
            u32 keys[${rows}], at[${rows}];
            for (u32 row = 0; row < ${rows}; row++) {
                const u64 there = first + row * ${wg_size} < n_rows ? first + row * ${wg_size} : n_rows - 1;
                keys[row] = value_key(value[there * n_features], default_left);
                at[row] = 0;
            }
            for (u32 step = 1u << steps[column] >> 1; step > 0; step /= 2) {
                for (u32 row = 0; row < ${rows}; row++)
                    at[row] += border[at[row] + step - 1] <= keys[row] ? step : 0;
            }
            GLOBAL ${code}* of_column = own + (u64)column * ${wg_size * rows};
% if categories:
            for (u32 row = 0; row < ${rows} && columns[column] & COLUMN_OF_SETS; row++) {
                const u64 there = first + row * ${wg_size} < n_rows ? first + row * ${wg_size} : n_rows - 1;
                at[row] = set_key(value[there * n_features], default_left, n_codes[column]);
            }
% endif
            for (u32 row = 0; row < ${rows}; row++) of_column[row * ${wg_size}] = (${code})at[row];
        }
    }
}
</%def>
