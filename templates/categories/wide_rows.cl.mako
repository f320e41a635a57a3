## wide_rows: rows of values with statistics behind them, side by side on a device
##
##   given      1.5 3 | 0.2 7 | ...           a number and a code in each row
##   wide       1.5 3 . . | 0.2 7 . . | ...   `place` leaves room for statistics
##   levels     3 7 ...                       `take_levels` takes a column's codes, and may empty it
##   wide       1.5 . m c | 0.2 . m c | ...   means by `ordered_statistics`, counts by `write_counts`
##
## params: wg_size
<%page args="wg_size"/>

#define EMPTY 0x7FC00000u

/* Bits of cells, see data/categories/levels.py: above those of all codes; a level that training has not seen;
   the code 2^24. */
#define INFINITE 0x7F800000u
#define UNSEEN 0x7FC00CA7u
#define COUNTED 0x4B800000u

/* Rows of `source`, with empty columns behind its own, become columns of some rows of `wide`. */
KERNEL(${wg_size}) place(
        const u32 n_rows, const u32 n_from, const u32 first_row, const u32 n_wide,
        const u32 first_column, const u32 n_columns, GLOBAL const u32* RESTRICT source,
        GLOBAL u32* RESTRICT wide) {
    const u64 n = (u64)n_rows * n_columns;
    PLAIN for (u64 i = (u64)GROUP_ID * ${wg_size} + LOCAL_ID; i < n; i += (u64)N_GROUPS * ${wg_size}) {
        const u64 row = i / n_columns;
        const u32 column = (u32)(i - row * n_columns);
        const u32 cell = column < n_from ? source[row * n_from + column] : EMPTY;
        wide[(first_row + row) * n_wide + first_column + column] = cell;
    }
}

/* The codes of a column become levels, `missing + 1` if unseen; with `empty` the column becomes empty. */
KERNEL(${wg_size}) take_levels(
        const u32 n, const u32 n_wide, const u32 column, const u32 missing, const u32 empty,
        GLOBAL u32* RESTRICT wide, GLOBAL u32* RESTRICT levels) {
    PLAIN for (u32 i = GROUP_ID * ${wg_size} + LOCAL_ID; i < n; i += N_GROUPS * ${wg_size}) {
        const u64 place = (u64)i * n_wide + column;
        const u32 cell = wide[place];
        if (cell > INFINITE) levels[i] = missing + (cell == UNSEEN);
        else levels[i] = cell > COUNTED ? cell - COUNTED + (1u << 24) : (u32)as_f32(cell);
        if (empty) {
            wide[place] = EMPTY;
        }
    }
}

/* A column gets the number of rows that have the row's level; levels above `missing` were not seen. */
KERNEL(${wg_size}) write_counts(
        const u32 n, const u32 n_wide, const u32 column, const u32 missing,
        GLOBAL const u32* RESTRICT levels, GLOBAL const u32* RESTRICT counts,
        GLOBAL f32* RESTRICT wide) {
    PLAIN for (u32 i = GROUP_ID * ${wg_size} + LOCAL_ID; i < n; i += N_GROUPS * ${wg_size}) {
        const u32 level = levels[i];
        wide[(u64)i * n_wide + column] = level < missing ? (f32)counts[level] : level == missing ? as_f32(EMPTY) : 0.0f;
    }
}
