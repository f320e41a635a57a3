## level_places: the borders between a feature's levels in order that are looked at; `symmetric_sets` imports it
##
##   in order   c  a  e  b  d  ..  x  y  z     looked at: those behind the first `most` levels, and those that
##   borders    0  1  2            3  4  5     leave at most as many; a CPU keeps no other levels

<%def name="functions(wg_size)">
/* Borders of a feature that are looked at, and the levels that were kept in order. */
typedef struct { GLOBAL const u64* entries; u32 n, n_entries, n_low, n_visited, one_hot; } places_t;

FN places_t places_of(GLOBAL const u64* entries, GLOBAL const i64* fact, const u32 most, const u32 one_hot) {
    places_t places;
    places.entries = entries;
    places.n = (u32)fact[0];
    places.n_entries = (u32)fact[5];
    places.n_low = one_hot || most > places.n ? places.n : most;
    places.n_visited = places.n - places.n_low > places.n_low + 1 ? 2 * places.n_low + 1 : places.n;
    places.one_hot = one_hot;
    return places;
}

/* Where the level before border j is among n: the first ones, then the last ones. */
FN u32 place_of(const places_t places, const u32 n, const u32 j) {
    return j < places.n_low ? j : n - places.n_visited + j;
}

FN u32 code_of(const places_t places, const u32 j) {
    return (u32)places.entries[place_of(places, places.n_entries, j)];
}

/* Cells of a feature's borders, before that of the rest. */
FN u32 capacity_of(const u32 n_levels, const u32 most, const u32 one_hot) {
    return one_hot || n_levels / 2 <= most ? n_levels : 2 * most + 1;
}

FN u32 is_ordered(GLOBAL const u32* bits, const u32 code, const u32 n_levels) {
    return code < n_levels ? (bits[code >> 5] >> (code & 31)) & 1 : 0;
}

/* A work-item's borders, and the sums of the levels that go right at the one before them. */
typedef struct { u32 begin, end; i64 before_g, before_h, middle_g, middle_h; } run_t;

/* Share the borders among the work-items, and sum up the levels of each run. */
FN run_t own_run(const places_t places, const level_sums_t sums) {
    const u32 size = (places.n_visited + ${wg_size - 1}) / ${wg_size};
    run_t run;
    run.begin = LOCAL_ID * size < places.n_visited ? LOCAL_ID * size : places.n_visited;
    run.end = run.begin + size < places.n_visited ? run.begin + size : places.n_visited;
    run.before_g = run.before_h = run.middle_g = run.middle_h = 0;
    for (u32 j = run.begin; j < run.end; j++) {
        const i64x2 sum = sums_of_level(sums, code_of(places, j));
        run.before_g += sum.x;
        run.before_h += sum.y;
    }
    return run;
}

/* The same with the sums before each run; `left` is of the levels that no border was looked at. */
FN run_t placed_run(const places_t places, const run_t own, const i64 before_g, const i64 before_h,
                    const i64 left_g, const i64 left_h) {
    const int behind = own.begin > places.n_low; /* the others meet them on their way */
    run_t run = own;
    run.before_g = before_g + (behind ? left_g : 0);
    run.before_h = before_h + (behind ? left_h : 0);
    run.middle_g = left_g;
    run.middle_h = left_h;
    return run;
}

/* Whether no border lies behind a level: it and the next one weigh 0. */
FN int is_within_light(const places_t places, const u32 j) {
    const u32 at = place_of(places, places.n_entries, j);
    if (places.one_hot || at + 1 >= places.n_entries) return 0;
    return (u32)(places.entries[at] >> 32) == KEY_OF_ZERO && (u32)(places.entries[at + 1] >> 32) == KEY_OF_ZERO;
}
</%def>

## The importing template has `cell_scan` for four i64.
<%def name="sums_in_order(wg_size)">
/* Read a node's sums at the levels of a feature, and their sum over the levels in order. The fullest code has
   what the others leave. */
FN level_sums_t read_in_order(const i64x2 own, GLOBAL const i64* cells, const u32 n_codes,
                              const u32 n_levels, const u32 full, GLOBAL const u32* bits, i64* in_order_g,
                              i64* in_order_h, LOCAL i64* shared) {
    i64 g = 0, h = 0, some_g = 0, some_h = 0, before, all_g, all_h;
% if wg_size == 1:
    for (u32 first = 0; first < n_levels; first += 32) { /* a word at a time, for vectors */
        const u64 word = bits[first / 32];
        const u32 n = n_levels - first < 32 ? n_levels - first : 32;
        GLOBAL const i64* here = cells + 2 * (u64)first;
        for (u32 k = 0; k < n; k++) {
            const i64 listed = -(i64)((word >> k) & 1);
            g += here[2 * k];
            h += here[2 * k + 1];
            some_g += here[2 * k] & listed;
            some_h += here[2 * k + 1] & listed;
        }
    }
    const i64 full_g = cells[2 * (u64)full], full_h = cells[2 * (u64)full + 1];
    g += (n_codes > n_levels ? cells[2 * (u64)n_levels] : 0) - full_g;
    h += (n_codes > n_levels ? cells[2 * (u64)n_levels + 1] : 0) - full_h;
    some_g -= is_ordered(bits, full, n_levels) ? full_g : 0;
    some_h -= is_ordered(bits, full, n_levels) ? full_h : 0;
% else:
    for (u32 code = LOCAL_ID; code < n_codes; code += ${wg_size}) {
        const i64x2 sum = ((GLOBAL const i64x2*)cells)[code];
        const int kept = code != full, listed = kept & (int)is_ordered(bits, code, n_levels);
        g += kept ? sum.x : 0;
        h += kept ? sum.y : 0;
        some_g += listed ? sum.x : 0;
        some_h += listed ? sum.y : 0;
    }
% endif
    cell_scan(g, h, some_g, some_h, shared, &before, &all_g, &before, &all_h, &before, in_order_g, &before,
              in_order_h);
    level_sums_t sums;
    sums.cells = cells;
    sums.full = full;
    sums.full_g = own.x - all_g;
    sums.full_h = own.y - all_h;
    const u32 full_listed = is_ordered(bits, full, n_levels);
    *in_order_g += full_listed ? sums.full_g : 0;
    *in_order_h += full_listed ? sums.full_h : 0;
    return sums;
}

/* Set a node's sums; those of its sibling are what the parent's leave. */
FN void set_cell(GLOBAL i64* cell, GLOBAL i64* other, const u32 subtract, const i64 g, const i64 h) {
    cell[0] = g;
    cell[1] = h;
    if (subtract) {
        other[0] -= g;
        other[1] -= h;
    }
}
</%def>
