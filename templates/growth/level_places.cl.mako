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
