## radix_parts: definitions that both templates of the radix sort import
##
## words: types: keys are bits_t (see sortable), values have value_bytes bytes, indices are place_t.
## number: the numbers 0, 1, 2, ..., for an argsort. columns: a sort of whole columns for CPUs; each
## work-group has one work-item and sorts one column after the other.

<%def name="words(value_bytes, place)">
typedef ${place} place_t; /* counts keys */
% if value_bytes:
typedef u${8 * value_bytes} moved_t;
% endif
% if value_bytes == 8:
typedef u64 widest_t;
% else:
typedef bits_t widest_t;
% endif

/* The digit of a key that a pass sorts by. */
FN u32 digit_of(const bits_t bits, const u32 shift, const u32 mask) {
    return (u32)(sortable(bits) >> shift) & mask;
}
</%def>

<%def name="number(name, wg_size)">
KERNEL(${wg_size}) ${name}(GLOBAL u32* ids, const u64 n) {
    const u64 share = (n + N_GROUPS - 1) / N_GROUPS, begin = GROUP_ID * share;
    const u64 end = n < begin + share ? n : begin + share;
    for (u64 i = begin + LOCAL_ID; i < end; i += ${wg_size}) ids[i] = (u32)i;
}
</%def>

<%def name="columns(name, radix_bits, passes, value_bytes)">
<% digits = 1 << radix_bits %>
/* Sort whole columns. A work-group sorts every N_GROUPS-th column and has one column of scratch. It
   counts the digits of all passes at once, and skips a pass if all keys have the same digit. A digit
   has `step` bits; the last one has only the kept bits. */
KERNEL(1) ${name}(
    GLOBAL bits_t* keys, const u64 start, const u64 n_keys, const u32 n_columns,
    const u32 first_bit, const u32 step, const u32 n_passes, const u64 keep_bits,
    GLOBAL bits_t* scratch_keys
% if value_bytes:
    , GLOBAL moved_t* values, GLOBAL moved_t* scratch_values
% endif
    ) {
    const u32 mask = (1u << step) - 1;
    const place_t n = (place_t)n_keys;
    const bits_t keep = (bits_t)keep_bits;
    place_t counters[${digits * passes}];
    for (u32 column = GROUP_ID; column < n_columns; column += N_GROUPS) {
        GLOBAL bits_t* home = keys + start + (u64)column * n;
        GLOBAL bits_t* from = home;
        GLOBAL bits_t* to = scratch_keys + (u64)GROUP_ID * n;
% if value_bytes:
        GLOBAL moved_t* from_value = values + (u64)column * n;
        GLOBAL moved_t* to_value = scratch_values + (u64)GROUP_ID * n;
% endif
        for (u32 d = 0; d < ${digits * passes}; ++d) counters[d] = 0;
        for (place_t i = 0; i < n; ++i) {
            bits_t rest = (sortable(from[i]) & keep) >> first_bit;
% for digit in range(passes):
            counters[${digit * digits} + (u32)(rest & mask)] += 1;
% if digit < passes - 1:
            rest >>= step; /* counters beyond n_passes are not used */
% endif
% endfor
        }
        for (u32 digit = 0; digit < n_passes; ++digit) {
            const u32 shift = first_bit + digit * step;
            const u32 digit_mask = (u32)(keep >> shift) & mask;
            place_t* next = counters + digit * ${digits};
            if (n && next[digit_of(from[0], shift, digit_mask)] == n) continue;
            place_t before = 0;
            for (u32 d = 0; d < ${digits}; ++d) {
                const place_t count = next[d];
                next[d] = before;
                before += count;
            }
            for (place_t i = 0; i < n; ++i) {
                const bits_t bits = from[i];
                const place_t place = next[digit_of(bits, shift, digit_mask)]++;
                to[place] = bits;
% if value_bytes:
                to_value[place] = from_value[i];
% endif
            }
            GLOBAL bits_t* other = from;
            from = to;
            to = other;
% if value_bytes:
            GLOBAL moved_t* other_value = from_value;
            from_value = to_value;
            to_value = other_value;
% endif
        }
        if (from == home) continue;
        for (place_t i = 0; i < n; ++i) to[i] = from[i];
% if value_bytes:
        for (place_t i = 0; i < n; ++i) to_value[i] = from_value[i];
% endif
    }
}
</%def>
