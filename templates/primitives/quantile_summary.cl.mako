## quantile_summary: build, merge and prune weighted quantile summaries of several columns
## uses: portable_math
##
##   column     value  2 1 2 3 5      an entry has a value, and three ranks: `below`, at most the weight of
##              weight 1 4 2 1 2      smaller values; `up_to`, at least the weight of values that are not
##   summary    value  1 2 3 5        greater; and at most its own weight. Ranks of a built summary are exact.
##              below  0 4 7 8        Entries of a column ascend. Entries of column c are those from offsets[c]
##              up_to  4 7 8 10       to offsets[c + 1] - 1.
##              weight 4 3 1 2
##
##   build      summary_values, a sort, running sums of weights; the last of each run of equal values becomes
##              an entry, whose place is the number of such elements before it (a scan of summary_last)
##   merge      an entry's place is the number of entries before it in both; `places` counts those of the
##              second summary that are not in the first (a scan of summary_new)
##   prune      slots for queries of rank k / parts of a column's weight; an entry that several queries choose
##              is kept once (a scan of summary_distinct)
##
## params: wg_size, part (build, merge, prune), offset (u32, i64: those of build)
<%page args="wg_size, part, offset"/>
## The head of a loop over this work-group's elements of `n`.
<%def name="each(i, n)">const u64 end_of_chunk = ((u64)GROUP_ID + 1) * chunk, n_elements = ${n};
    const u64 end = end_of_chunk < n_elements ? end_of_chunk : n_elements;
    for (u64 ${i} = (u64)GROUP_ID * chunk + LOCAL_ID; ${i} < end; ${i} += ${wg_size})\
</%def>
% if part == "build":
KERNEL(${wg_size}) summary_values(
    GLOBAL const f32* RESTRICT values, GLOBAL const i64* RESTRICT weights, const u32 n, const u32 chunk,
    GLOBAL f32* RESTRICT keys, GLOBAL i64* RESTRICT kept) {
    ${each("i", "n")} {
        const f32 value = values[i];
        const i64 weight = weights[i];
        const int out = is_missing(value) || weight < 1;
        const u32 bits = ordered(value) == ordered(0.0f) ? 0 : as_u32(value);
        keys[i] = as_f32(out ? 0x7FC00000u : bits);
        kept[i] = out ? 0 : weight;
    }
}

/* last[i] = 1 if the next key differs; NaNs, which are last in a column, are no keys. */
KERNEL(${wg_size}) summary_last(
    GLOBAL const f32* RESTRICT keys, const u32 n, const u32 chunk, GLOBAL u32* RESTRICT last) {
    ${each("i", "(u64)n + 1")}
        last[i] = i < n && !is_missing(keys[i]) && (i + 1 == n || as_u32(keys[i]) != as_u32(keys[i + 1]));
}

/* The next key may be equal, and in the next column. */
KERNEL(${wg_size}) summary_column_ends(
    GLOBAL const f32* RESTRICT keys, GLOBAL const ${offset}* RESTRICT offsets, const u32 n_columns,
    const u32 chunk, GLOBAL u32* RESTRICT last) {
    ${each("column", "n_columns")} {
        const u64 begin = (u64)offsets[column], after = (u64)offsets[column + 1];
        if (begin < after && !is_missing(keys[after - 1])) last[after - 1] = 1;
    }
}

/* places: the exclusive scan of `last`; sums: running sums of a column's weights. */
KERNEL(${wg_size}) summary_entries(
    GLOBAL const f32* RESTRICT keys, GLOBAL const i64* RESTRICT sums, GLOBAL const u32* RESTRICT places,
    const u32 n, const u32 chunk, GLOBAL f32* RESTRICT values, GLOBAL i64* RESTRICT ranks) {
    const u32 n_entries = places[n];
    ${each("i", "n")} {
        const u64 place = places[i];
        if (places[i + 1] == place) continue;
        values[place] = keys[i];
        ranks[3 * place + 1] = sums[i];
        if (place + 1 < n_entries) ranks[3 * place + 3] = sums[i]; /* `below` of the next entry */
    }
}

/* No weight is below the first entry of a column. */
KERNEL(${wg_size}) summary_offsets(
    GLOBAL const u32* RESTRICT places, GLOBAL const ${offset}* RESTRICT offsets, const u32 n_columns,
    const u32 chunk, GLOBAL u32* RESTRICT entry_offsets, GLOBAL i64* RESTRICT ranks) {
    ${each("column", "(u64)n_columns + 1")} {
        const u32 first = places[offsets[column]];
        entry_offsets[column] = first;
        if (column < n_columns && places[offsets[column + 1]] > first) ranks[3 * (u64)first] = 0;
    }
}

KERNEL(${wg_size}) summary_weights(
    GLOBAL const u32* RESTRICT entry_offsets, const u32 n_columns, const u32 chunk,
    GLOBAL i64* RESTRICT ranks) {
    ${each("i", "entry_offsets[n_columns]")} ranks[3 * i + 2] = ranks[3 * i + 1] - ranks[3 * i];
}
% else:

/* The column that has entry or slot `place`: the last one that begins there or before. */
FN u32 column_of(GLOBAL const u32* offsets, const u32 n_columns, const u64 place) {
    u32 low = 0, high = n_columns;
    while (high - low > 1) {
        const u32 middle = low + (high - low) / 2;
        if (offsets[middle] <= place) low = middle; else high = middle;
    }
    return low;
}
% endif
% if part == "merge":

/* The first place in [low, high) whose value is not less than `key`, else `high`. */
FN u32 lower_bound(GLOBAL const f32* values, u32 low, u32 high, const u32 key) {
% if wg_size == 1:
    /* the place is near: keys ascend, and `low` is the place of the key before */
    for (u32 step = 1; high - low > step; step *= 2) {
        if (ordered(values[low + step]) >= key) {
            high = low + step;
            break;
        }
        low += step;
    }
% endif
    while (low < high) {
        const u32 middle = low + (high - low) / 2;
        if (ordered(values[middle]) < key) low = middle + 1; else high = middle;
    }
    return low;
}

/* is_new[i] = 1 if the first summary (`other`) lacks the value of entry i of the second. */
KERNEL(${wg_size}) summary_new(
    GLOBAL const f32* RESTRICT values, GLOBAL const u32* RESTRICT offsets,
    GLOBAL const f32* RESTRICT other_values, GLOBAL const u32* RESTRICT other_offsets,
    const u32 n_columns, const u32 n, const u32 chunk, GLOBAL u32* RESTRICT is_new) {
    const u32 n_entries = offsets[n_columns];
    u32 column_end = 0, at = 0, after = 0;
    ${each("i", "(u64)n + 1")} {
        u32 lacks = 0;
        if (i < n_entries) {
            const u32 key = ordered(values[i]);
            if (i >= column_end) { /* another column than before */
                const u32 column = column_of(offsets, n_columns, i);
                column_end = offsets[column + 1];
                at = other_offsets[column];
                after = other_offsets[column + 1];
            }
            at = lower_bound(other_values, at, after, key);
            lacks = at == after || ordered(other_values[at]) != key;
        }
        is_new[i] = lacks;
    }
}

/* Entries of the first summary, or those of the second that the first one lacks. A value between two
   entries of the other summary has its rank between what these two leave to it. */
KERNEL(${wg_size}) summary_merge(
    GLOBAL const f32* RESTRICT values, GLOBAL const i64* RESTRICT ranks, GLOBAL const u32* RESTRICT offsets,
    GLOBAL const f32* RESTRICT other_values, GLOBAL const i64* RESTRICT other_ranks,
    GLOBAL const u32* RESTRICT other_offsets, GLOBAL const u32* RESTRICT places, const u32 is_second,
    const u32 n_columns, const u32 chunk, GLOBAL f32* RESTRICT out_values, GLOBAL i64* RESTRICT out_ranks) {
    u32 column_end = 0, before = 0, at = 0, after = 0;
    ${each("i", "offsets[n_columns]")} {
        if (is_second && places[i + 1] == places[i]) continue;
        const u32 key = ordered(values[i]);
        if (i >= column_end) { /* another column than before */
            const u32 column = column_of(offsets, n_columns, i);
            column_end = offsets[column + 1];
            at = before = other_offsets[column];
            after = other_offsets[column + 1];
        }
        at = lower_bound(other_values, at, after, key);
        GLOBAL const i64* next = other_ranks + 3 * (u64)at;
        i64 below = at > before ? next[-3] + next[-1] : 0, up_to = 0, weight = 0;
        if (at < after) {
            const int equal = ordered(other_values[at]) == key;
            below = equal ? next[0] : below;
            up_to = equal ? next[1] : next[1] - next[2];
            weight = equal ? next[2] : 0;
        } else if (at > before) {
            up_to = next[-2];
        }
        const u64 place = is_second ? (u64)places[i] + at : i + places[at];
        out_values[place] = values[i];
        out_ranks[3 * place] = ranks[3 * i] + below;
        out_ranks[3 * place + 1] = ranks[3 * i + 1] + up_to;
        out_ranks[3 * place + 2] = ranks[3 * i + 2] + weight;
    }
}

KERNEL(${wg_size}) summary_offsets(
    GLOBAL const u32* RESTRICT offsets, GLOBAL const u32* RESTRICT second_offsets,
    GLOBAL const u32* RESTRICT places, const u32 n_columns, const u32 chunk,
    GLOBAL u32* RESTRICT out_offsets) {
    ${each("column", "(u64)n_columns + 1")} out_offsets[column] = offsets[column] + places[second_offsets[column]];
}
% endif
% if part == "prune":

/* rooms: slots of a column, one for each query, but not more than it has entries. */
KERNEL(${wg_size}) summary_rooms(
    GLOBAL const u32* RESTRICT offsets, const u32 n_columns, const u32 n_queries, const u32 chunk,
    GLOBAL u32* RESTRICT rooms) {
    ${each("column", "(u64)n_columns + 1")} {
        const u32 n_entries = column < n_columns ? offsets[column + 1] - offsets[column] : 0;
        rooms[column] = n_entries < n_queries ? n_entries : n_queries;
    }
}

/* Entry `i` is nearer to a rank than its successor if twice the rank is less than this. The sums ascend
   with `i`, because weights are above 0. */
FN i64 border_behind(GLOBAL const i64* ranks, const u64 i) {
    GLOBAL const i64* own = ranks + 3 * i;
    return own[0] + own[2] + own[4] - own[5];
}

/* chosen[slot] = the entry for rank k / parts of the weight of the slot's column. */
KERNEL(${wg_size}) summary_choose(
    GLOBAL const u32* RESTRICT offsets, GLOBAL const i64* RESTRICT ranks, GLOBAL const u32* RESTRICT slots,
    const u32 n_columns, const u32 n_queries, const u32 parts, const u32 chunk,
    GLOBAL u32* RESTRICT chosen) {
    ${each("slot", "slots[n_columns]")} {
        const u32 column = column_of(slots, n_columns, slot), k = (u32)slot - slots[column];
        u32 low = offsets[column], high = offsets[column + 1] - 1;
        if (high - low < n_queries) low = high = low + k; /* every entry has its slot */
        /* twice the rank, 2 k weight / parts, rounded down: it is compared with integers */
        const u64 twice = 2 * (u64)ranks[3 * (u64)high + 1];
        const i64 rank = (i64)(twice / parts * k + twice % parts * k / parts);
        while (low < high) {
            const u32 middle = low + (high - low) / 2;
            if (rank < border_behind(ranks, middle)) high = middle; else low = middle + 1;
        }
        chosen[slot] = low;
    }
}

KERNEL(${wg_size}) summary_distinct(
    GLOBAL const u32* RESTRICT chosen, GLOBAL const u32* RESTRICT slots, const u32 n_columns,
    const u32 n, const u32 chunk, GLOBAL u32* RESTRICT is_new) {
    const u32 n_slots = slots[n_columns];
    ${each("slot", "(u64)n + 1")}
        is_new[slot] = slot < n_slots && (slot == 0 || chosen[slot] != chosen[slot - 1]);
}

KERNEL(${wg_size}) summary_take(
    GLOBAL const f32* RESTRICT values, GLOBAL const i64* RESTRICT ranks, GLOBAL const u32* RESTRICT chosen,
    GLOBAL const u32* RESTRICT places, GLOBAL const u32* RESTRICT slots, const u32 n_columns,
    const u32 chunk, GLOBAL f32* RESTRICT out_values, GLOBAL i64* RESTRICT out_ranks) {
    ${each("slot", "slots[n_columns]")} {
        const u64 place = places[slot], entry = chosen[slot];
        if (places[slot + 1] == place) continue;
        out_values[place] = values[entry];
        for (u32 k = 0; k < 3; ++k) out_ranks[3 * place + k] = ranks[3 * entry + k];
    }
}

KERNEL(${wg_size}) summary_offsets(
    GLOBAL const u32* RESTRICT places, GLOBAL const u32* RESTRICT slots, const u32 n_columns,
    const u32 chunk, GLOBAL u32* RESTRICT out_offsets) {
    ${each("column", "(u64)n_columns + 1")} out_offsets[column] = places[slots[column]];
}
% endif
