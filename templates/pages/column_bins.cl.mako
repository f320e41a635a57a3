## column_bins: a bin for every distinct value of sorted columns
## uses: portable_math
##
##   values    |1 1 2|3|5 5 7|      sorted within each column
##   heads      1 0 1 1 1 0 1       1: the first entry of a value (`heads`); then a running sum gives
##   runs       1 1 2 3 4 4 5       the number of each entry's value (`bins`)
##   places     0 0 1 3 4 4 5       with a place behind each column that has missing values
##   below      1 2 . 3 5 7         the value of each place, and the next one of its column
##   above      2 2 . 3 7 7
##
## params: wg_size
<%page args="wg_size"/>

/* The column of entry i: the last one that begins at or before it, and is not empty. */
FN u32 column_of(GLOBAL const u32* starts, const u32 n_columns, const u32 i) {
    u32 low = 0, high = n_columns;
    while (high - low > 1) {
        const u32 middle = low + (high - low) / 2;
        if (starts[middle] <= i) low = middle; else high = middle;
    }
    return low;
}

KERNEL(${wg_size}) heads(
        const u32 n, const u32 n_columns, GLOBAL const u32* RESTRICT starts,
        GLOBAL const f32* RESTRICT values, GLOBAL u32* RESTRICT columns, GLOBAL u32* RESTRICT heads_of) {
    const u32 begin = (u32)((u64)n * GROUP_ID / N_GROUPS), end = (u32)((u64)n * (GROUP_ID + 1) / N_GROUPS);
    PLAIN for (u32 i = begin + LOCAL_ID; i < end; i += ${wg_size}) {
        const u32 column = column_of(starts, n_columns, i);
        columns[i] = column;
        heads_of[i] = i == starts[column] || ordered(values[i]) != ordered(values[i - 1]);
    }
}

/* n_bins[c] = number of distinct values of column c. */
KERNEL(${wg_size}) count(
        const u32 n_columns, GLOBAL const u32* RESTRICT starts, GLOBAL const u32* RESTRICT runs,
        GLOBAL u32* RESTRICT n_bins) {
    PLAIN for (u32 c = GROUP_ID * ${wg_size} + LOCAL_ID; c < n_columns; c += N_GROUPS * ${wg_size}) {
        const u32 begin = starts[c], end = starts[c + 1];
        n_bins[c] = end == begin ? 0 : runs[end - 1] - (begin ? runs[begin - 1] : 0);
    }
}

/* missing_before[c] = number of columns before c that have missing values. */
KERNEL(${wg_size}) bins(
        const u32 n, GLOBAL const u32* RESTRICT starts, GLOBAL const u32* RESTRICT missing_before,
        GLOBAL const f32* RESTRICT values, GLOBAL const u32* RESTRICT columns,
        GLOBAL const u32* RESTRICT runs, GLOBAL u32* RESTRICT places, GLOBAL u32* RESTRICT features,
        GLOBAL f32* RESTRICT below, GLOBAL f32* RESTRICT above) {
    const u32 begin = (u32)((u64)n * GROUP_ID / N_GROUPS), end = (u32)((u64)n * (GROUP_ID + 1) / N_GROUPS);
    PLAIN for (u32 i = begin + LOCAL_ID; i < end; i += ${wg_size}) {
        const u32 column = columns[i], place = runs[i] - 1 + missing_before[column];
        places[i] = place;
        if (i + 1 < n && runs[i + 1] == runs[i]) continue; /* another entry of the same value follows */
        const int last = i + 1 == n || i + 1 == starts[column + 1];
        features[place] = column;
        below[place] = values[i];
        above[place] = values[last ? i : i + 1];
    }
}
