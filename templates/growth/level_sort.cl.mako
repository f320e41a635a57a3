## level_sort: the levels of a categorical feature in order; `category_split` imports it, behind `category_cells`
##
##   entries   key << 32 | code of each level that has rows enough, by ascending codes; then sorted by key

<%namespace name="group" file="group.cl.mako"/>

<%def name="functions(wg_size, digit)">
<% digits = 1 << digit %>
## each is called once, so that PoCL inlines it: a function of its own would share arrays between threads
${group.exclusive_scans("level_scan", "i64", wg_size, 2)}
${group.exclusive_scan("count_scan", "u32", wg_size)}
${group.exclusive_scan("digit_scan", "u32", wg_size)}
#define DIGITS ${digits}
% if wg_size == 1:
#define FEW 32 /* levels that are inserted one by one */
#define MANY 512 /* levels of which the middle is left out; with fewer, counting takes as long as sorting */
% endif

/* List the levels that have rows enough, as key << 32 | code, by ascending codes. */
FN u32 list_levels(const level_sums_t sums, const u32 n_levels, const i64 least, const order_t order_of,
                   const u32 one_hot, i64* ordered_g, i64* ordered_h, GLOBAL u64* entries,
                   LOCAL u32* heads, LOCAL i64* shared) {
    const u32 size = (n_levels + ${wg_size - 1}) / ${wg_size};
    const u32 begin = LOCAL_ID * size < n_levels ? LOCAL_ID * size : n_levels;
    const u32 end = begin + size < n_levels ? begin + size : n_levels;
    u32 count = 0, total;
    i64 g = 0, h = 0, before_g, before_h;
    for (u32 code = begin; code < end; code++) {
        const i64x2 sum = sums_of_level(sums, code);
        if (sum.y >= least) {
            g += sum.x;
            h += sum.y;
            count++;
        }
    }
    u32 at = count_scan(count, heads, &total);
    level_scan(g, h, shared, &before_g, ordered_g, &before_h, ordered_h);
    for (u32 code = begin; code < end; code++) {
        const i64x2 sum = sums_of_level(sums, code);
        if (sum.y >= least) {
            const u32 key = one_hot ? 0 : ${"rough_key" if wg_size == 1 else "order_key"}(sum.x, sum.y, order_of);
            entries[at++] = (u64)key << 32 | code;
        }
    }
    BARRIER();
    return total;
}

% if wg_size == 1:
/* Leave out entries that are surely not among the first `most` in order, nor the last `most` + 1. Rough keys
   are counted by their first 12 bits; a key may be off by much less than such a class is wide, so the
   classes beside are kept, too. */
FN u32 keep_ends(GLOBAL u64* entries, const u32 n, const u32 most, LOCAL u32* classes) {
    if (n < MANY || n / 4 < most) return n;
    for (u32 k = 0; k < 4096; k++) classes[k] = 0;
    for (u32 i = 0; i < n; i++) classes[entries[i] >> 52]++;
    u32 low = 0, high = 4095;
    for (u32 sum = classes[0]; sum < most; sum += classes[low]) low++;
    for (u32 sum = classes[4095]; sum < most + 1; sum += classes[high]) high--;
    u32 kept = 0;
    for (u32 i = 0; i < n; i++) {
        const u32 own = (u32)(entries[i] >> 52);
        entries[kept] = entries[i];
        kept += own <= low + 1 || own + 1 >= high;
    }
    return kept;
}

% endif
/* Sort entries by one digit of their keys; entries with equal digits keep their order.
   counts[digit, work-item] are of the work-items' runs. */
FN void sort_digit(GLOBAL const u64* from, GLOBAL u64* to, const u32 n, const u32 shift,
                   LOCAL u32* counts, LOCAL u32* heads) {
    const u32 size = (n + ${wg_size - 1}) / ${wg_size};
    const u32 begin = LOCAL_ID * size < n ? LOCAL_ID * size : n;
    const u32 end = begin + size < n ? begin + size : n;
    for (u32 d = 0; d < DIGITS; d++) counts[d * ${wg_size} + LOCAL_ID] = 0;
    for (u32 i = begin; i < end; i++)
        counts[((u32)(from[i] >> shift) & (DIGITS - 1)) * ${wg_size} + LOCAL_ID]++;
    BARRIER();
    u32 mine = 0, total;
    for (u32 k = 0; k < DIGITS; k++) mine += counts[LOCAL_ID * DIGITS + k];
    u32 before = digit_scan(mine, heads, &total);
    for (u32 k = 0; k < DIGITS; k++) {
        const u32 count = counts[LOCAL_ID * DIGITS + k];
        counts[LOCAL_ID * DIGITS + k] = before;
        before += count;
    }
    BARRIER();
    for (u32 i = begin; i < end; i++)
        to[counts[((u32)(from[i] >> shift) & (DIGITS - 1)) * ${wg_size} + LOCAL_ID]++] = from[i];
    BARRIER();
}

/* Sort entries by their keys, in `entries`. */
FN void sort_entries(GLOBAL u64* entries, GLOBAL u64* spare, const u32 n, LOCAL u32* counts,
                     LOCAL u32* heads) {
% if wg_size == 1:
    if (n <= FEW) {
        for (u32 i = 1; i < n; i++) {
            const u64 entry = entries[i];
            u32 at = i;
            for (; at > 0 && entries[at - 1] > entry; at--) entries[at] = entries[at - 1];
            entries[at] = entry;
        }
        return;
    }
% endif
    for (u32 pass = 0; pass < ${32 // digit}; pass++) /* an even number: the last one is to `entries` */
        sort_digit(pass % 2 ? spare : entries, pass % 2 ? entries : spare, n, 32 + pass * ${digit}, counts, heads);
}
</%def>
