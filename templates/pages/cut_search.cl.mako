## cut_search: where a bin of a sorted column ends; `quantize` imports it
##
##   keys     |a a a|b|c c c c c c|d|NaN NaN|      a bin ends behind equal keys (`behind`)
##                     ^ share_end                 and no sooner than it has its share of what remains
##
##             ^ front                           by ranks, a bin ends in front of the equal keys
##                                               that a rank lies in (`rank_row`)
##
##   weighted   shares and ranks are of rows' weights, which `running` adds up, column after column

<%def name="functions(weighted)">
/* The first index in (place, high) whose key is greater than that at `place`, else `high`. Steps double
   until one goes too far; then a binary search. */
FN u32 behind(GLOBAL const f32* keys, const u32 place, u32 high) {
    const u32 key = ordered(keys[place]);
    u32 low = place; /* keys[low] <= key */
    for (u32 step = 1; high - low > step; step *= 2) {
        if (ordered(keys[low + step]) > key) {
            high = low + step;
            break;
        }
        low += step;
    }
    while (high - low > 1) {
        const u32 middle = low + (high - low) / 2;
        if (ordered(keys[middle]) <= key) low = middle; else high = middle;
    }
    return high;
}

/* The first index in [low, place] whose key is that at `place`. */
FN u32 front(GLOBAL const f32* keys, u32 low, const u32 place) {
    const u32 key = ordered(keys[place]);
    u32 high = place; /* keys[high] == key */
    while (low < high) {
        const u32 middle = low + (high - low) / 2;
        if (ordered(keys[middle]) < key) low = middle + 1; else high = middle;
    }
    return high;
}
% if weighted:

/* Weight of a column's rows before index `place`. `running` also sums earlier columns, and may wrap. */
FN i64 weight_before(GLOBAL const i64* running, const u64 column, const u32 place) {
    if (place == 0) return 0;
    const u64 before = column ? (u64)running[column - 1] : 0;
    return (i64)((u64)running[column + place - 1] - before);
}
% endif

/* The number of a column's values, which are sorted before NaN. */
FN u32 count_present(GLOBAL const f32* keys, const u32 n_rows) {
    u32 low = 0, high = n_rows;
    while (low < high) {
        const u32 middle = low + (high - low) / 2;
        if (is_missing(keys[middle])) high = middle; else low = middle + 1;
    }
    return low;
}

% if weighted:
/* The first row in [first, last] up to whose end a column's weight is `goal` or more. */
FN u32 reaching(GLOBAL const i64* running, const u64 base, u32 first, u32 last, const i64 goal) {
    while (first < last) {
        const u32 middle = first + (last - first) / 2;
        if (weight_before(running, base, middle + 1) >= goal) last = middle;
        else first = middle + 1;
    }
    return first;
}

% endif
/* The row behind which the next bin ends at the earliest, if it takes its share of what remains: one of
   `share` equal parts of the rows from `place` to `present`, or of their weight. */
% if weighted:
FN u32 share_end(GLOBAL const i64* running, const u64 base, const u32 place, const u32 present,
                 const u32 share) {
    const i64 done = weight_before(running, base, place);
    const i64 rest = weight_before(running, base, present) - done;
    return reaching(running, base, place, present - 1, done + (rest + share - 1) / share);
}

/* The row that rank `part` of `parts` lies in: ranks lie at equal distances from row `begin` to `end`. */
FN u32 rank_row(GLOBAL const i64* running, const u64 base, const u32 begin, const u32 end,
                const u32 part, const u32 parts) {
    const i64 done = weight_before(running, base, begin);
    const i64 rest = weight_before(running, base, end) - done;
    const i64 goal = done + rest / parts * part + rest % parts * part / parts + 1;
    return reaching(running, base, begin, end - 1, goal);
}
% else:
FN u32 share_end(const u32 place, const u32 present, const u32 share) {
    return place + (u32)(((u64)(present - place) + share - 1) / share) - 1;
}

/* The row that rank `part` of `parts` lies in: ranks lie at equal distances from row `begin` to `end`. */
FN u32 rank_row(const u32 begin, const u32 end, const u32 part, const u32 parts) {
    return begin + (u32)((u64)(end - begin) * part / parts);
}
% endif
</%def>
