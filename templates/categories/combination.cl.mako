## combination: one code for the levels of several columns together
##
##   levels     a: 1 0 1 1    b: 2 2 0 2      codes of the parts
##   keys       1*3+2 0*3+2 1*3+0 1*3+2       `begin`, then `extend` with every further part
##   sorted     2 3 5 5       rows 1 2 0 3    sorted by a Python class
##   runs       0 1 1 0 -> 0 1 2 2            `heads`, and a scan: the number of each key
##   codes      2 0 1 2                       `scatter` brings them back to the rows
##
## params: wg_size
<%page args="wg_size"/>
<%def name="each(index, n)">PLAIN for (u32 ${index} = GROUP_ID * ${wg_size} + LOCAL_ID; ${index} < ${n}; ${index} += N_GROUPS * ${wg_size})</%def>

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
