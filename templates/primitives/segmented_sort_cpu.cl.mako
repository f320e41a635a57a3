## segmented_sort_cpu: segmented_radix_sort with one work-item a group, segment after segment
##
##   at most `tiny` keys    a key's index is the number of keys that come before it; the compiler
##                          vectorises the two loops that count them
##   more                   8 bits a pass, between the segment and scratch of the same size; the digits
##                          of all passes are counted at once, and a pass is skipped if all keys have
##                          the same digit

<%def name="kernels(n_bits, tiny, value, offset)">
<% n_digits = n_bits // 8 %>
FN void rank_segment(GLOBAL bits_t* keys, const u32 n
% if value:
    , GLOBAL ${value}* values
% endif
    ) {
    bits_t raw[${tiny}], order[${tiny}];
    u32 places[${tiny}];
% if value:
    ${value} moved[${tiny}];
    for (u32 i = 0; i < n; ++i) moved[i] = values[i];
% endif
    for (u32 i = 0; i < n; ++i) {
        raw[i] = keys[i];
        order[i] = sortable(raw[i]);
        places[i] = 0;
    }
    for (u32 k = 0; k < n; ++k) {
        const bits_t other = order[k];
        for (u32 i = 0; i < k; ++i) places[i] += other < order[i];
        for (u32 i = k + 1; i < n; ++i) places[i] += other <= order[i];
    }
    for (u32 i = 0; i < n; ++i) keys[places[i]] = raw[i];
% if value:
    for (u32 i = 0; i < n; ++i) values[places[i]] = moved[i];
% endif
}

/* Group g sorts `share` segments, from g * share on. */
KERNEL(1) sort_segments(
    GLOBAL bits_t* keys, GLOBAL const ${offset}* RESTRICT offsets, const u32 n_segments,
    const u32 share, GLOBAL bits_t* scratch_keys
% if value:
    , GLOBAL ${value}* values, GLOBAL ${value}* scratch_values
% endif
    ) {
    u32 counters[${256 * n_digits}];
    const u64 begin = (u64)GROUP_ID * share;
    const u64 end = n_segments - begin < share ? n_segments : begin + share;
    for (u64 segment = begin; segment < end; ++segment) {
        const u64 start = offsets[segment];
        const u32 n = (u32)((u64)offsets[segment + 1] - start);
        if (n <= ${tiny}) {
            rank_segment(keys + start, n${", values + start" if value else ""});
            continue;
        }
        GLOBAL bits_t* from = keys + start;
        GLOBAL bits_t* to = scratch_keys + start;
% if value:
        GLOBAL ${value}* from_value = values + start;
        GLOBAL ${value}* to_value = scratch_values + start;
% endif
        for (u32 d = 0; d < ${256 * n_digits}; ++d) counters[d] = 0;
        for (u32 i = 0; i < n; ++i) {
            const bits_t bits = sortable(from[i]);
% for digit in range(n_digits):
            counters[${256 * digit} + ((u32)(bits >> ${8 * digit}) & 255u)] += 1;
% endfor
        }
        u32 passes = 0;
        for (u32 digit = 0; digit < ${n_digits}; ++digit) {
            const u32 bit = 8 * digit;
            u32* next = counters + 256 * digit;
            if (next[(u32)(sortable(from[0]) >> bit) & 255u] == n) continue;
            u32 before = 0;
            for (u32 d = 0; d < 256; ++d) {
                const u32 count = next[d];
                next[d] = before;
                before += count;
            }
            for (u32 i = 0; i < n; ++i) {
                const bits_t bits = from[i];
                const u32 place = next[(u32)(sortable(bits) >> bit) & 255u]++;
                to[place] = bits;
% if value:
                to_value[place] = from_value[i];
% endif
            }
            GLOBAL bits_t* other = from;
            from = to;
            to = other;
% if value:
            GLOBAL ${value}* other_value = from_value;
            from_value = to_value;
            to_value = other_value;
% endif
            ++passes;
        }
        if (passes % 2 == 0) continue; /* the keys are back in the segment */
        for (u32 i = 0; i < n; ++i) to[i] = from[i];
% if value:
        for (u32 i = 0; i < n; ++i) to_value[i] = from_value[i];
% endif
    }
}
</%def>
