## combination: one code for the levels of several columns together
##
##   levels     a: 1 0 1 1    b: 2 2 0 2      codes of the parts
##   keys       1*3+2 0*3+2 1*3+0 1*3+2       `begin`, then `extend` with every further part
##   sorted     2 3 5 5       rows 1 2 0 3    sorted by a Python class
##   runs       0 1 1 0 -> 0 1 2 2            `heads`, and a scan: the number of each key
##   codes      2 0 1 2                       `scatter` brings them back to the rows
##
##   Where a work-group has one work-item, it may do all that for two columns: `number_pairs` sorts rows by the levels
##   of one column, then of the other, by counting them.
##
## params: wg_size
<%page args="wg_size"/>
<%def name="each(index, n)">PLAIN for (u32 ${index} = GROUP_ID * ${wg_size} + LOCAL_ID; ${index} < ${n}; ${index} += N_GROUPS * ${wg_size})</%def>

## Sorts rows stably by a column's levels; those that lack a level of one of both columns are left out.
<%def name="sort_rows(target, n_levels, levels, n_rows, row)">
    for (u32 level = 0; level < ${n_levels}; level++) counters[level] = 0;
    for (u32 i = 0; i < ${n_rows}; i++)
        if (one[${row}] < n_one && other[${row}] < n_other) counters[${levels}[${row}]] += 1;
    n_there = 0;
    for (u32 level = 0; level < ${n_levels}; level++) {
        const u32 own = counters[level];
        counters[level] = n_there;
        n_there += own;
    }
    PLAIN for (u32 i = 0; i < ${n_rows}; i++)
        if (one[${row}] < n_one && other[${row}] < n_other) ${target}[counters[${levels}[${row}]]++] = ${row};
</%def>\

#define NO_KEY 0xFFFFFFFFFFFFFFFFul /* of rows where a part is missing */
#define UNSEEN (NO_KEY - 1)          /* of rows with a level that training has not seen */

/* The key of a row, given that of its parts before; levels above `missing` were not seen. */
FN u64 extended(const u64 key, const u64 size, const u32 level, const u32 missing) {
    if (key == NO_KEY || level == missing) return NO_KEY;
    return key == UNSEEN || level > missing ? UNSEEN : key * size + level;
}

KERNEL(${wg_size}) begin_keys(
        const u32 n, const u32 missing, GLOBAL const u32* RESTRICT levels,
        GLOBAL u64* RESTRICT keys) {
    ${each("i", "n")} keys[i] = extended(0, 0, levels[i], missing);
}

KERNEL(${wg_size}) extend_keys(
        const u32 n, const u32 missing, const u64 size, GLOBAL const u32* RESTRICT levels,
        GLOBAL u64* RESTRICT keys) {
    ${each("i", "n")} keys[i] = extended(keys[i], size, levels[i], missing);
}

KERNEL(${wg_size}) mark_heads(const u32 n, GLOBAL const u64* RESTRICT keys, GLOBAL u32* RESTRICT heads) {
    ${each("i", "n")} heads[i] = i > 0 && keys[i] != keys[i - 1];
}

/* codes[row] = number of its key; n where a part is missing. n_found: how many numbers there are. */
KERNEL(${wg_size}) scatter_codes(
        const u32 n, GLOBAL const u64* RESTRICT keys, GLOBAL const u32* RESTRICT rows,
        GLOBAL const u32* RESTRICT runs, GLOBAL u32* RESTRICT codes, GLOBAL u32* RESTRICT n_found) {
    ${each("i", "n")} {
        const int there = keys[i] != NO_KEY;
        codes[rows[i]] = there ? runs[i] : n;
        if (i == n - 1) n_found[0] = runs[i] + (there ? 1 : 0);
    }
}

/* found[number] = its key. */
KERNEL(${wg_size}) list_keys(
        const u32 n, GLOBAL const u64* RESTRICT keys, GLOBAL const u32* RESTRICT runs,
        GLOBAL u64* RESTRICT found) {
    ${each("i", "n")} {
        const int head = i == 0 || keys[i] != keys[i - 1];
        if (head && keys[i] != NO_KEY) found[runs[i]] = keys[i];
    }
}

/* levels[i] = whether a number is at or above a threshold; a missing one is not. */
KERNEL(${wg_size}) compare(
        const u32 n, const f32 threshold, GLOBAL const f32* RESTRICT values, GLOBAL u32* RESTRICT levels) {
    ${each("i", "n")} levels[i] = values[i] >= threshold;
}
% if wg_size == 1:

/* Codes of the combinations of two columns, as the kernels above make them, and the key of each code; one work-group. */
KERNEL(1) number_pairs(
        const u32 n, const u32 n_one, const u32 n_other, GLOBAL const u32* RESTRICT one,
        GLOBAL const u32* RESTRICT other, GLOBAL u32* RESTRICT counters, GLOBAL u32* RESTRICT by_other,
        GLOBAL u32* RESTRICT rows, GLOBAL u64* RESTRICT keys, GLOBAL u32* RESTRICT codes, GLOBAL u32* RESTRICT n_found) {
    u32 n_there = 0, number = 0;
    PLAIN for (u32 i = 0; i < n; i++) codes[i] = n;
${sort_rows("by_other", "n_other", "other", "n", "i")}\
    const u32 n_sorted = n_there;
${sort_rows("rows", "n_one", "one", "n_sorted", "by_other[i]")}\
    u64 last = NO_KEY;
    PLAIN for (u32 i = 0; i < n_sorted; i++) {
        const u32 row = rows[i];
        const u64 key = (u64)one[row] * n_other + other[row];
        if (key != last) keys[number++] = key;
        codes[row] = number - 1;
        last = key;
    }
    n_found[0] = number;
}
% endif
