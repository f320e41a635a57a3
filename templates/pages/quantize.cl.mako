## quantize: feature values -> cut points -> codes
## uses: portable_math blocks
##
##   columns   copy the values of some listed features from rows to columns; values of rows with weight 0
##             become missing
##   number    write the row ids of some columns, which are then sorted with the values
##   gather    integer weights in the order of the sorted row ids
##   cuts      the values on both sides of every cut of a sorted column, for bins of equal frequency
##   encode    code = number of thresholds <= value; a missing value has the code after the feature's
##             bins; a categorical feature's values are its codes; rows are padded to 16 bytes
##   transpose codes by row -> codes by feature; groups of one work-item write both in `encode`
##
##   sorted    1 1 1 | 2 2 | 3 5 | 7 nan      a cut is after the first value at which a bin has an equal
##   bins       0      1     2     3          share of the remaining weight
##   below          1     2     5     7       last value of each bin
##   above          2     3     7     7       first value of the next bin
##
## params: wg_size; items, elements that a work-item encodes: rows if the work-group has one work-item,
##         else codes; weighted; code, the code's type
<%page args="wg_size, items, weighted, code"/>
<%namespace name="cut_search" file="cut_search.cl.mako"/>
<% tile = max(wg_size, 1024) if wg_size == 1 else wg_size %>
/* `values` has the features from `begin_feature` on. */
KERNEL(${wg_size}) columns(
        const u32 n_rows, const u32 n_features, const u32 begin_feature, const u32 first_feature, const u32 n_columns,
        const u32 start, const u32 all_rows, GLOBAL const u32* RESTRICT features,
        GLOBAL const f32* RESTRICT values, GLOBAL const f32* RESTRICT weights, GLOBAL f32* RESTRICT keys) {
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
    for (u32 first = begin; first < end; first += ${tile}) { /* a tile stays in the cache */
        const u32 last = end - first < ${tile} ? end : first + ${tile};
        for (u32 column = 0; column < n_columns; column++) {
            GLOBAL f32* mine = keys + (u64)column * all_rows + start;
            const u32 feature = features[first_feature + column] - begin_feature;
            PLAIN for (u32 row = first + LOCAL_ID; row < last; row += ${wg_size}) {
                f32 value = values[(u64)row * n_features + feature];
% if weighted:
                if (as_u32(weights[start + row]) << 1 == 0) value = as_f32(0x7FC00000u);
% endif
                mine[row] = value;
            }
        }
    }
}

% if weighted:
KERNEL(${wg_size}) number(const u32 n_rows, GLOBAL u32* RESTRICT ids) {
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
    for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size})
        ids[(u64)GROUP_ID_Y * n_rows + row] = row;
}

KERNEL(${wg_size}) gather(
        const u32 n_rows, const i32 weight_power, GLOBAL const u32* RESTRICT ids,
        GLOBAL const f32* RESTRICT weights, GLOBAL i64* RESTRICT whole) {
    const u64 column = (u64)GROUP_ID_Y * n_rows;
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
    for (u32 i = begin + LOCAL_ID; i < end; i += ${wg_size}) {
        const f32 weight = weights[ids[column + i]];
        const i64 quanta = to_quanta(weight, weight_power);
        /* a weight above 0 counts at least 1 */
        whole[column + i] = quanta < 1 && as_u32(weight) << 1 != 0 ? 1 : quanta;
    }
}
% endif

${cut_search.functions(weighted)}

#define NO_BIN 0xFFFFFFFFu

/* found[column] = number of bins, number of values, fullest bin, below[max_bin], above[max_bin].
   `running` begins with column `first_column`. */
KERNEL(${wg_size}) cuts(
        const u32 n_rows, const u32 n_counted, const u32 n_columns, const u32 max_bin,
        const u32 first_column, const u32 ranked,
        GLOBAL const f32* RESTRICT sorted, GLOBAL const i64* RESTRICT running,
        GLOBAL u32* RESTRICT found) {
    const u32 column = GROUP_ID * ${wg_size} + LOCAL_ID;
    if (column >= n_columns) return;
    GLOBAL const f32* keys = sorted + (u64)(first_column + column) * n_rows;
    GLOBAL u32* mine = found + (u64)(first_column + column) * (3 + 2 * max_bin);
    GLOBAL u32* below = mine + 3;
    GLOBAL u32* above = below + max_bin;
% if not weighted:
    (void)running;
% endif
    const u32 present = count_present(keys, n_rows);
    /* one of the 256 codes of a byte is for missing values, where bins are shares */
    const u32 most = !ranked && max_bin == 256 && present < n_counted ? 255 : max_bin;
    /* one bin for each distinct value, if they are few */
    u32 bins = 0, place = 0;
    while (place < present && bins <= most + ranked) {
        place = behind(keys, place, present);
        bins++;
    }
    const int every_value = bins <= most + ranked;
    bins = 0;
    place = 0;
    const u32 begin = ranked && !every_value ? behind(keys, 0, present) : 0;
    const u32 end = ranked && !every_value ? front(keys, 0, present - 1) : present;
    u32 part = 1;
    u32 most_rows = n_rows - present, full = NO_BIN; /* the missing ones */
    while (place < present) {
        u32 next;
        if (every_value) { /* by ranks, the last two values share a bin if they are one too many */
            next = ranked && bins + 1 == most ? present : behind(keys, place, present);
        } else if (ranked) {
            next = place;
            for (; part < most && next <= place; part++)
% if weighted:
                next = front(keys, place, rank_row(running, (u64)column * n_rows, begin, end, part, most));
% else:
                next = front(keys, place, rank_row(begin, end, part, most));
% endif
            if (next <= place) next = bins + 1 < most && place < end ? end : present;
        } else {
            /* the first cut before which lies at least an equal share of the remaining weight */
% if weighted:
            const u64 base = (u64)column * n_rows;
            const u32 first = share_end(running, base, place, present, most - bins);
% else:
            const u32 first = share_end(place, present, most - bins);
% endif
            next = behind(keys, first, present);
        }
        /* both by values: NVIDIA's compilers read one of the two places in `ranked ? above[bins] : keys[next - 1]`
           through a cache that does not see the store before it */
        const u32 last = as_u32(keys[next - 1]), first_behind = as_u32(next < present ? keys[next] : keys[next - 1]);
        above[bins] = first_behind;
        below[bins] = ranked ? first_behind : last;
        if (next - place > most_rows) {
            most_rows = next - place;
            full = bins;
        }
        bins++;
        place = next;
    }
    mine[0] = bins;
    mine[1] = present;
    mine[2] = full == NO_BIN ? bins : full;
}

/* Codes in 16 bytes of a row. */
#define BLOCK ${16 if code == "u8" else 8}

/* In place of a first step: the feature's values are codes. */
#define ARE_CODES 0xFFFFFFFFu

/* `skipped` values' rows lie in other pages; tables: each feature's bins, first step, first key; then keys */
% if wg_size == 1:
KERNEL(1) encode(
        const u32 n_rows, const u32 n_features, const u32 row_codes, const u32 block_features,
        const u64 row_stride, const u64 block_stride, const u32 paired, const u32 skipped, const u32 first_row,
        GLOBAL const f32* RESTRICT values, GLOBAL const u32* RESTRICT tables,
        GLOBAL ${code}* RESTRICT codes, const u32 all_rows, GLOBAL ${code}* RESTRICT by_feature) {
    const u32 begin = GROUP_ID * ${items};
    const u32 count = n_rows - begin < ${items} ? n_rows - begin : ${items};
    const u64 first = first_row + begin;
    f32 value[${items}];
    u32 key[${items}], bin[${items}];
    for (u32 place = 0; place < row_codes; place++) {
        const u32 feature = place / BLOCK * block_features + place % BLOCK;
        GLOBAL ${code}* out = codes + first * row_stride + block_at(place / BLOCK, block_stride, paired, BLOCK) + place % BLOCK;
        if (place % BLOCK >= block_features || feature >= n_features) { /* padding */
            for (u32 i = 0; i < count; i++) out[i * row_stride] = 0;
            continue;
        }
        const u32 bins = tables[feature];
        GLOBAL const u32* keys = tables + tables[2 * n_features + feature];
        /* Each step loops over all rows, so that the compiler vectorises it. Rows beyond the end read
           the last row. */
        for (u32 i = 0; i < ${items}; i++) {
            const u32 row = begin + (i < count ? i : count - 1);
            value[i] = values[(u64)(skipped + row) * n_features + feature];
        }
        const u32 first_step = tables[n_features + feature];
        for (u32 i = 0; i < ${items}; i++) {
            key[i] = ordered(value[i]);
            bin[i] = 0;
        }
        for (u32 step = first_step == ARE_CODES ? 0 : first_step; step > 0; step /= 2)
            for (u32 i = 0; i < ${items}; i++) {
                const u32 border = keys[bin[i] + step - 1];
                bin[i] += border <= key[i] ? step : 0;
            }
        if (first_step == ARE_CODES)
            for (u32 i = 0; i < ${items}; i++) bin[i] = is_missing(value[i]) ? 0 : (u32)value[i];
        for (u32 i = 0; i < ${items}; i++) bin[i] = is_missing(value[i]) ? bins : bin[i];
        for (u32 i = 0; i < count; i++) out[i * row_stride] = (${code})bin[i];
        for (u32 i = 0; i < count; i++)
            by_feature[(u64)feature * all_rows + first + i] = (${code})bin[i];
    }
}
% else:
KERNEL(${wg_size}) encode(
        const u32 n_rows, const u32 n_features, const u32 row_codes, const u32 block_features,
        const u64 row_stride, const u64 block_stride, const u32 paired, const u32 skipped, const u32 first_row,
        GLOBAL const f32* RESTRICT values, GLOBAL const u32* RESTRICT tables, GLOBAL ${code}* RESTRICT codes) {
    for (u32 item = 0; item < ${items}; item++) {
        const u64 i = ((u64)GROUP_ID * ${items} + item) * ${wg_size} + LOCAL_ID;
        const u64 row = i / row_codes;
        if (row >= n_rows) return;
        const u32 place = (u32)(i - row * row_codes);
        const u32 feature = place / BLOCK * block_features + place % BLOCK;
        u32 bin = 0; /* padding */
        if (place % BLOCK < block_features && feature < n_features) {
            const f32 value = values[(skipped + row) * n_features + feature];
            GLOBAL const u32* keys = tables + tables[2 * n_features + feature];
            const u32 key = ordered(value), first_step = tables[n_features + feature];
            if (is_missing(value)) bin = tables[feature];
            else if (first_step == ARE_CODES) bin = (u32)value;
            else
                for (u32 step = first_step; step > 0; step /= 2)
                    bin += keys[bin + step - 1] <= key ? step : 0;
        }
        codes[(first_row + row) * row_stride + block_at(place / BLOCK, block_stride, paired, BLOCK) + place % BLOCK] =
            (${code})bin;
    }
}

/* Copy codes by row to codes by feature; a work-item copies 16 bytes of a row. */
KERNEL(${wg_size}) transpose(
        const u32 n_rows, const u32 n_features, const u32 block_features,
        const u64 row_stride, const u64 block_stride, const u32 paired, GLOBAL const ${code}* RESTRICT codes,
        GLOBAL ${code}* RESTRICT by_feature) {
    const u64 block = block_at(GROUP_ID_Y, block_stride, paired, BLOCK);
    for (u32 item = 0; item < ${items}; item++) {
        const u64 row = ((u64)GROUP_ID * ${items} + item) * ${wg_size} + LOCAL_ID;
        if (row >= n_rows) return;
        const u32 first = GROUP_ID_Y * block_features;
        const u32 left = n_features - first < block_features ? n_features - first : block_features;
        for (u32 i = 0; i < left; i++)
            by_feature[(u64)(first + i) * n_rows + row] = codes[row * row_stride + block + i];
    }
}
% endif
