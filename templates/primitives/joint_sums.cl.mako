## joint_sums: histograms of features that share joint codes, from local sums of these; `histogram_banks` imports it
##
##   features of 5, 3 and 2 codes share a place of 30 joint codes: (a * 3 + b) * 2 + c
##
##   code b = 1    joint codes  2 3 | 8 9 | 14 15 | 20 21 | 26 27     first 2, run 2, step 6
##
##   sum_begin   for each place: its first entry of `sums_of`, and the first one behind them
##   sums_of     for each code of a feature: its place in a node's histogram, and first, run and step in a word

## Every sum of a block's features, by a work-item: neighbours read 32 banks.
<%def name="each_sum(wg_size)">\
    for (u32 unit = LOCAL_ID; unit < ${max(32, wg_size)}; unit += ${wg_size}) {
        const u32 part = unit & 1, place = unit >> 1 & 15;
        if (place >= block.n_places) continue;
        GLOBAL const u32* own = sum_begin + 2 * (16 * block.first + place);
        for (u32 at = own[0] + unit / 32; at < own[1]; at += ${max(1, wg_size // 32)}) {
            GLOBAL i64* to = target + 2 * sums_of[2 * at] + part;
            ${caller.body()}
        }
    }
</%def>

<%def name="functions(wg_size)">\
#define FIRST(of) ((of) & 255)
#define RUN(of) (((of) >> 8 & 255) + 1)
#define STEP(of) (((of) >> 16) + 1)

/* What overflowed goes to the high words of the sums of all features. */
FN void carry(GLOBAL i64* target, GLOBAL const u32* own, GLOBAL const u32* sums_of, const u32 code,
              const i32 one, const i32 two) {
    if (one | two)
        for (u32 at = own[0]; at < own[1]; at++) {
            const u32 of = sums_of[2 * at + 1];
            if (code % STEP(of) - FIRST(of) >= RUN(of)) continue;
            GLOBAL i64* to = target + 2 * sums_of[2 * at];
            atomic_add_global_i64(to, (i64)one << 32);
            atomic_add_global_i64(to + 1, (i64)two << 32);
        }
}

#define CARRY(number, cell, old_one, old_two) \
    if ((cell) % 16 < block_##number.n_places) { \
        const i32 all_one = carried(old_one, one, swapped ? high.y : high.x); \
        const i32 all_two = carried(old_two, two, swapped ? high.x : high.y); \
        carry(target, sum_begin + 2 * (16 * block_##number.first + (cell) % 16), sums_of, (cell) / 32, \
              swapped ? all_two : all_one, swapped ? all_one : all_two); \
    }

FN void clear_joint(GLOBAL i64* target, const block_t block, GLOBAL const u32* sum_begin,
                    GLOBAL const u32* sums_of) {
<%call expr="each_sum(wg_size)">
            *to = 0;
</%call>
}

/* Write the sums of a block's features; alone: no other group adds to them. */
FN void write_joint(GLOBAL i64* target, LOCAL const i32* sums, const block_t block, const int alone,
                    GLOBAL const u32* sum_begin, GLOBAL const u32* sums_of) {
<%call expr="each_sum(wg_size)">
            const u32 next = place + 1 < block.n_places ? block.offset[place + 1] : block.code_end;
            const u32 n_codes = next - block.offset[place];
            LOCAL const i32* bank = sums + part * 16 + place;
            const i64 begun = part ? FIRST_HESSIAN : 0;
            i64 sum = 0;
            const u32 of = sums_of[2 * at + 1];
            for (u32 begin = FIRST(of); begin < n_codes; begin += STEP(of))
                for (u32 code = begin; code < begin + RUN(of); code++) sum += (i64)bank[code * 32] - begun;
            if (alone) *to += sum;
            else if (sum) atomic_add_global_i64(to, sum);
</%call>
}
</%def>
