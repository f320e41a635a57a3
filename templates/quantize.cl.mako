## quantize: feature values -> cut points -> codes
## uses: portable_math
##
##   column    one feature's values out of row-major ones; rows without weight count as missing
##   gather    whole weights in the order of a sorted column
##   cuts      per sorted column: the values on both sides of every cut, by equal frequency
##   encode    code = number of thresholds <= value; missing = the code behind the feature's bins;
##             rows are padded to 16 bytes
##   transpose codes row by row -> feature by feature
##
##   sorted    1 1 1 | 2 2 | 3 5 | 7 nan      borders are put where the remaining weight is shared
##   bins       0      1     2     3          out equally among the remaining bins, behind a value
##   below          1     2     5     7       last value of each bin
##   above          2     3     7     7       first value of the next one
##
## params: wg_size; items, elements a work-item encodes; weighted; code, the code's type
<%page args="wg_size, items, weighted, code"/>

KERNEL(${wg_size}) column(
        const u32 n_rows, const u32 n_features, const u32 feature, const u32 start,
        GLOBAL const f32* RESTRICT values, GLOBAL const f32* RESTRICT weights,
        GLOBAL f32* RESTRICT keys, GLOBAL u32* RESTRICT ids) {
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
    for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size}) {
        f32 value = values[(u64)row * n_features + feature];
% if weighted:
        if (as_u32(weights[start + row]) << 1 == 0) value = as_f32(0x7FC00000u);
        ids[start + row] = start + row;
% endif
        keys[start + row] = value;
    }
}

KERNEL(${wg_size}) gather(
        const u32 n_rows, const i32 weight_power, GLOBAL const u32* RESTRICT ids,
        GLOBAL const f32* RESTRICT weights, GLOBAL i64* RESTRICT whole) {
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
    for (u32 i = begin + LOCAL_ID; i < end; i += ${wg_size}) {
        const f32 weight = weights[ids[i]];
        const i64 quanta = to_quanta(weight, weight_power);
        whole[i] = quanta < 1 && as_u32(weight) << 1 != 0 ? 1 : quanta; /* no row is lost */
    }
}

/* The first place in [low, high) whose key exceeds that at `place`. */
FN u32 behind(GLOBAL const f32* keys, const u32 place, u32 high) {
    const u32 key = ordered(keys[place]);
    u32 low = place; /* keys[low] <= key */
    while (high - low > 1) {
        const u32 middle = low + (high - low) / 2;
        if (ordered(keys[middle]) <= key) low = middle; else high = middle;
    }
    return high;
}

/* Weight before a place. */
FN i64 weight_before(GLOBAL const i64* running, const u32 place) {
% if weighted:
    return place ? running[place - 1] : 0;
% else:
    (void)running;
    return place;
% endif
}

#define NO_BIN 0xFFFFFFFFu

KERNEL(${wg_size}) cuts(
        const u32 n_rows, const u32 n_counted, const u32 n_columns, const u32 max_bin,
        GLOBAL const f32* RESTRICT sorted,
        GLOBAL const i64* RESTRICT running, GLOBAL f32* RESTRICT below, GLOBAL f32* RESTRICT above,
        GLOBAL u32* RESTRICT n_bins, GLOBAL u32* RESTRICT n_present,
        GLOBAL u32* RESTRICT fullest) {
    const u32 column = GROUP_ID * ${wg_size} + LOCAL_ID;
    if (column >= n_columns) return;
    GLOBAL const f32* keys = sorted + (u64)column * n_rows;
    GLOBAL const i64* weight = running + (${1 if weighted else 0} * (u64)column) * n_rows;
    GLOBAL f32* my_below = below + (u64)column * max_bin;
    GLOBAL f32* my_above = above + (u64)column * max_bin;
    /* values that are there lie before the NaN */
    u32 low = 0, high = n_rows;
    while (low < high) {
        const u32 middle = low + (high - low) / 2;
        if (is_missing(keys[middle])) high = middle; else low = middle + 1;
    }
    const u32 present = low;
    n_present[column] = present;
    /* one code of a byte is kept for the missing rows */
    const u32 most = max_bin == 256 && present < n_counted ? 255 : max_bin;
    /* few distinct values: a bin each */
    u32 bins = 0, place = 0;
    while (place < present && bins <= most) {
        place = behind(keys, place, present);
        bins++;
    }
    const int every_value = bins <= most;
    bins = 0;
    place = 0;
    u32 most_rows = n_rows - present, full = NO_BIN; /* the missing ones */
    while (place < present) {
        u32 next;
        if (every_value) {
            next = behind(keys, place, present);
        } else {
            /* the first border with at least an equal share of what remains before it */
            const i64 done = weight_before(weight, place);
            const i64 rest = weight_before(weight, present) - done;
            const i64 share = most - bins;
            const i64 goal = done + (rest + share - 1) / share;
            u32 first = place, last = present - 1;
            while (first < last) {
                const u32 middle = first + (last - first) / 2;
                if (weight_before(weight, middle + 1) >= goal) last = middle; else first = middle + 1;
            }
            next = behind(keys, first, present);
        }
        my_below[bins] = keys[next - 1];
        my_above[bins] = next < present ? keys[next] : keys[next - 1];
        if (next - place > most_rows) {
            most_rows = next - place;
            full = bins;
        }
        bins++;
        place = next;
    }
    n_bins[column] = bins;
    fullest[column] = full == NO_BIN ? bins : full;
}

/* Codes in 16 bytes of a row. */
#define BLOCK ${16 if code == "u8" else 8}

KERNEL(${wg_size}) encode(
        const u64 n_codes, const u32 n_features, const u32 row_codes, const u32 block_features,
        const u64 row_stride, const u64 block_stride, GLOBAL const f32* RESTRICT values, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u32* RESTRICT feature_bins, GLOBAL const f32* RESTRICT thresholds,
        const u64 first_row, GLOBAL ${code}* RESTRICT codes) {
    for (u32 item = 0; item < ${items}; item++) {
        const u64 i = ((u64)GROUP_ID * ${items} + item) * ${wg_size} + LOCAL_ID;
        if (i >= n_codes) return;
        const u64 row = i / row_codes;
        const u32 place = (u32)(i - row * row_codes);
        const u32 feature = place / BLOCK * block_features + place % BLOCK;
        u32 code = 0; /* padding */
        if (place % BLOCK < block_features && feature < n_features) {
            const f32 value = values[row * n_features + feature];
            const u32 bins = feature_bins[feature];
            code = bins;
            if (!is_missing(value)) {
                GLOBAL const f32* mine = thresholds + feature_offset[feature];
                const u32 key = ordered(value);
                u32 low = 0, high = bins ? bins - 1 : 0; /* the last threshold is beyond all */
                while (low < high) {
                    const u32 middle = (low + high) / 2;
                    if (ordered(mine[middle]) <= key) low = middle + 1; else high = middle;
                }
                code = low;
            }
        }
        codes[(first_row + row) * row_stride + place / BLOCK * block_stride + place % BLOCK] = (${code})code;
    }
}

/* Row by row -> feature by feature; a work-item takes a row's 16 bytes. */
KERNEL(${wg_size}) transpose(
        const u32 n_rows, const u32 n_features, const u32 block_features,
        const u64 row_stride, const u64 block_stride, GLOBAL const ${code}* RESTRICT codes, GLOBAL ${code}* RESTRICT by_feature) {
    for (u32 item = 0; item < ${items}; item++) {
        const u64 row = ((u64)GROUP_ID * ${items} + item) * ${wg_size} + LOCAL_ID;
        if (row >= n_rows) return;
        const u32 first = GROUP_ID_Y * block_features;
        const u32 left = n_features - first < block_features ? n_features - first : block_features;
        for (u32 i = 0; i < left; i++)
            by_feature[(u64)(first + i) * n_rows + row] = codes[row * row_stride + GROUP_ID_Y * block_stride + i];
    }
}
