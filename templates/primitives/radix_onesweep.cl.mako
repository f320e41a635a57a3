## radix_onesweep: a stable sort of keys (and values) by a range of their bits; one launch a pass
##
##   clear      state words, tickets and counters to zero
##   histogram  the digits of all passes, counted at once            a5 b9
##   bases      scanned: index of each digit's first key             a0 b5
##   sweep      tile       0          1          2        tiles in the order of their tickets
##              keys       b a b a  | a a b a  | b b a b  digits a < b
##              counts     a2 b2      a3 b1      a1 b3    published for later tiles
##              before     a0 b5      a2 b7      a5 b8    found by look-back, then published
##              in place   a a b b  | a a a b  | a b b b  the tile, sorted in local memory
##              out        a a . . . b b ...              neighbours are written to neighbours
##
## A state word belongs to a digit of a tile. It has a tag of 24 bits and a count of 40 bits. The tag is
## 2 * pass + 1 for the tile's own count, 2 * pass + 2 for the count of all tiles up to it. So words of
## earlier passes are ignored, and are cleared once. If a word is not ready after `spin` reads, the
## tile's keys are counted instead, so no work-group waits for another one. (Adinets & Merrill 2022,
## "Onesweep"; tickets and the limit on waiting are additions.)
##
## params: wg_size, take (keys of a work-item), key (u32, i32, f32, u64, i64, f64), value_bytes (0, 4, 8),
##         place (type of indices: u32, u64), descending, match (how a key's rank among 32 neighbours is
##         found: 2 by a ballot for each bit, 1 by a match, 0 without NVIDIA's words, by two stable
##         passes of 4 bits in local memory), window (earlier tiles that are read at a time), spin (0:
##         always count, for tests), copies (of the histogram's counters)
<%page args="wg_size, take, key, value_bytes, place, descending, match, window, spin, copies"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="sortable" file="sortable.cl.mako"/>
<%namespace name="radix" file="radix_parts.cl.mako"/>
<%namespace name="ranks" file="radix_ranks.cl.mako"/>
<%
    key_bytes = int(key[1:]) // 8
    copies = max(1, copies * 4 // key_bytes)
    tile = wg_size * take
    warps = wg_size // 32 if match else 0
    own = max(1, 256 // wg_size)  # digits that a work-item looks after
    wide = max(key_bytes, value_bytes)
%>
${sortable.operation(key, descending)}
${radix.words(value_bytes, place)}
${group.exclusive_scan("scan_u32", "u32", wg_size)}
${group.exclusive_scan("scan_u64", "u64", wg_size)}
#define TILE ${tile}
#define OWN_DIGITS(d) u32 d = LOCAL_ID * ${own}; d < 256 && d < (LOCAL_ID + 1) * ${own}; ++d
#define COUNT_BITS 40
#define COUNT_OF(word) ((word) & (((u64)1 << COUNT_BITS) - 1))

KERNEL(${wg_size}) radix_clear(
    GLOBAL u64* state, const u64 n_state, GLOBAL u32* histogram, const u64 n_histogram,
    GLOBAL u32* tickets, const u64 n_tickets) {
    const u64 step = (u64)N_GROUPS * ${wg_size};
    for (u64 i = GLOBAL_ID; i < n_state; i += step) state[i] = 0;
    for (u64 i = GLOBAL_ID; i < n_histogram; i += step) histogram[i] = 0;
    for (u64 i = GLOBAL_ID; i < n_tickets; i += step) tickets[i] = 0;
}

/* histogram[column, pass, digit] += number of keys in the group's chunk; two u32, the low one first. */
KERNEL(${wg_size}) radix_histogram(
    GLOBAL const bits_t* RESTRICT keys, const u64 start, const u64 n, const u64 chunk,
    const u32 first_bit, const u32 step, const u32 n_passes, const u64 keep,
    GLOBAL u32* histogram) {
    LOCAL_ARRAY(u32, counters, ${key_bytes * 256 * copies});
    const u32 id = LOCAL_ID, mask = (1u << step) - 1;
    const u64 begin = GROUP_ID * chunk, count = n - begin < chunk ? n - begin : chunk;
    GLOBAL const bits_t* mine = keys + start + GROUP_ID_Y * n + begin;
    for (u32 j = id; j < ${key_bytes * 256 * copies}; j += ${wg_size}) counters[j] = 0;
    BARRIER();
    for (u64 first = id; first < count; first += ${4 * wg_size}) {
        bits_t rest[4];
        for (u32 k = 0; k < 4; ++k)
            if (first + k * ${wg_size} < count) rest[k] = mine[first + k * ${wg_size}];
        for (u32 k = 0; k < 4; ++k)
            if (first + k * ${wg_size} < count) {
                rest[k] = (sortable(rest[k]) & (bits_t)keep) >> first_bit;
                for (u32 pass = 0; pass < n_passes; ++pass) {
                    const u32 d = pass * 256 + ((u32)rest[k] & mask);
                    atomic_add_local_u32(&counters[d * ${copies} + id % ${copies}], 1);
                    rest[k] >>= step;
                }
            }
    }
    BARRIER();
    for (u32 j = id; j < n_passes * 256; j += ${wg_size}) {
        u32 sum = 0;
        for (u32 c = 0; c < ${copies}; ++c) sum += counters[j * ${copies} + c];
        GLOBAL u32* both = histogram + ((u64)GROUP_ID_Y * ${key_bytes * 256} + j) * 2;
        if (sum) {
            const u32 low = atomic_add_global_u32(both, sum);
            if (low + sum < low) atomic_add_global_u32(both + 1, 1); /* carry */
        }
    }
}

/* Scan the counts of a pass (x) of a column (y): each becomes the index of the digit's first key. */
KERNEL(${wg_size}) radix_bases(GLOBAL u32* histogram) {
    LOCAL_ARRAY(u64, shared, ${wg_size});
    GLOBAL u32* mine = histogram + ((u64)GROUP_ID_Y * ${key_bytes} + GROUP_ID) * 512;
    u64 sum = 0, total;
    for (OWN_DIGITS(d)) sum += mine[2 * d] + ((u64)mine[2 * d + 1] << 32);
    u64 before = scan_u64(sum, shared, &total);
    for (OWN_DIGITS(d)) {
        const u64 count = mine[2 * d] + ((u64)mine[2 * d + 1] << 32);
        mine[2 * d] = (u32)before;
        mine[2 * d + 1] = (u32)(before >> 32);
        before += count;
    }
}

/* Number of keys with digit d in a tile that is not the last one. */
FN u64 count_tile(GLOBAL const bits_t* keys, const u32 d, const u32 shift, const u32 mask) {
    u64 found = 0;
    for (u32 i = 0; i < TILE; ++i) found += digit_of(keys[i], shift, mask) == d;
    return found;
}

/* base + the number of keys with digit d in all tiles before `tile`. */
FN u64 look_back(
    GLOBAL const u64* state, GLOBAL const bits_t* keys, const u32 tile, const u32 d,
    const u32 shift, const u32 mask, const u64 tag, const u64 base) {
    u64 before = 0;
    u32 ahead = tile; /* tiles that are not yet added */
% if spin:
    u32 waited = 0;
    while (ahead) {
        u64 words[${window}];
        const u32 last = ahead;
        for (u32 w = 0; w < ${window}; ++w)
            words[w] = READ_SHARED_U64(state + (u64)(last > w ? last - 1 - w : 0) * 256 + d);
        for (u32 w = 0; w < ${window}; ++w) {
            if (!ahead || ahead + w != last) break; /* all added, or one was not ready */
            const u64 found = words[w] >> COUNT_BITS;
            if (found == tag + 1) return before + COUNT_OF(words[w]);
            if (found != tag) break;
            before += COUNT_OF(words[w]);
            --ahead;
        }
        if (ahead != last) {
            waited = 0;
        } else if (++waited >= ${spin}) {
            --ahead;
            before += count_tile(keys + (u64)ahead * TILE, d, shift, mask);
            waited = 0;
        }
    }
% else:
    (void)state; (void)tag;
    while (ahead) before += count_tile(keys + (u64)--ahead * TILE, d, shift, mask);
% endif
    return base + before;
}

KERNEL(${wg_size}) radix_sweep(
    GLOBAL const bits_t* RESTRICT all_keys, const u64 start, const u64 n, const u32 shift,
    const u32 mask, const u32 pass, GLOBAL const u32* RESTRICT histogram, GLOBAL u32* tickets,
    GLOBAL u64* state, GLOBAL bits_t* RESTRICT all_out_keys, const u64 out_start
% if value_bytes:
    , GLOBAL const moved_t* RESTRICT all_values, GLOBAL moved_t* RESTRICT all_out_values
% endif
    ) {
    LOCAL_ARRAY(u32, ticket, 1);
    LOCAL_ARRAY(u32, shared, ${wg_size});
    LOCAL_ARRAY(u32, starts, 256);       /* index of each digit's first key in the tile */
    LOCAL_ARRAY(place_t, shift_to, 256); /* index in the column minus index in the tile */
    LOCAL_ARRAY(u64, words, ${max(tile * wide // 8 + 1, warps * 128)}); /* counters, then the tile */
    LOCAL bits_t* staged = (LOCAL bits_t*)words;
    const u32 id = LOCAL_ID;
    const u64 tag = 2 * pass + 1, column = GROUP_ID_Y * n;
    GLOBAL const bits_t* keys = all_keys + start + column;
    GLOBAL bits_t* out_keys = all_out_keys + out_start + column;
    GLOBAL u64* states = state + (u64)GROUP_ID_Y * N_GROUPS * 256;
    GLOBAL const u32* bases = histogram + ((u64)GROUP_ID_Y * ${key_bytes} + pass) * 512;
    ${ranks.begin(wg_size, warps)}
    if (id == 0) ticket[0] = atomic_add_global_u32(tickets + pass * N_GROUPS_Y + GROUP_ID_Y, 1);
    BARRIER();
    const u32 tile = ticket[0];
    const u64 first = (u64)tile * TILE;
    const u32 count = n - first < TILE ? (u32)(n - first) : TILE;
    /* 1. Load my keys. Missing keys of the last tile get digit 255, so they stay behind the others. */
#define MINE(k) ${"(id / 32 * %d + (k) * 32 + id %% 32)" % (32 * take) if warps else f"(id * {take} + (k))"}
    bits_t bits[${take}];
    u32 rank[${take}];
    for (u32 k = 0; k < ${take}; ++k) bits[k] = MINE(k) < count ? keys[first + MINE(k)] : 0;
#define DIGIT_NOW(k) (MINE(k) < count ? digit_of(bits[k], shift, mask) : 255u)
% if warps:
    u32 digits[${(take + 3) // 4}]; /* four in each, so that floats are mapped once */
    for (u32 j = 0; j < ${(take + 3) // 4}; ++j) digits[j] = 0;
    for (u32 k = 0; k < ${take}; ++k) digits[k / 4] |= DIGIT_NOW(k) << k % 4 * 8;
#define DIGIT(k) (digits[(k) / 4] >> (k) % 4 * 8 & 255u)
% else:
#define DIGIT(k) DIGIT_NOW(k)
% endif
    /* 2. Count the tile's digits, publish the counts, and find where each digit starts in the tile. */
    ${ranks.count(take, warps)}
    u32 sum = 0, total;
    for (OWN_DIGITS(d)) {
        u32 counted = 0;
        ${ranks.counted(warps)}
        sum += counted;
        starts[d] = counted;
        u64 word = (tag << COUNT_BITS) + counted;
        if (tile == 0) word += ((u64)1 << COUNT_BITS) + bases[2 * d] + ((u64)bases[2 * d + 1] << 32);
        WRITE_SHARED_U64(states + (u64)tile * 256 + d, word);
    }
    u32 next = scan_u32(sum, shared, &total);
    for (OWN_DIGITS(d)) {
        const u32 counted = starts[d];
        starts[d] = next;
        ${ranks.started(warps)}
        next += counted;
    }
    BARRIER();
    /* 3. Rank my keys, and sort the tile. */
    ${ranks.rank(wg_size, take, warps, match)}
    for (u32 k = 0; k < ${take}; ++k) staged[rank[k]] = bits[k];
    /* 4. Look back and publish the result. `next` is now the start of the digit after mine. */
    for (u32 k = ${own}; k > 0; --k) {
        const u32 d = id * ${own} + k - 1;
        if (d >= 256) continue;
        const u64 base = bases[2 * d] + ((u64)bases[2 * d + 1] << 32);
        const u64 before = look_back(states, keys, tile, d, shift, mask, tag, base);
        const u64 word = ((tag + 1) << COUNT_BITS) + before + (next - starts[d]);
        WRITE_SHARED_U64(states + (u64)tile * 256 + d, word);
        shift_to[d] = (place_t)before - starts[d];
        next = starts[d];
    }
    BARRIER();
    /* 5. Write the tile. */
% if value_bytes:
    place_t to[${take}];
% endif
    for (u32 k = 0; k < ${take}; ++k) {
        const u32 at = k * ${wg_size} + id;
        if (at < count) {
            const bits_t moving = staged[at];
            const place_t place = shift_to[digit_of(moving, shift, mask)] + at;
            out_keys[place] = moving;
% if value_bytes:
            to[k] = place;
% endif
        }
    }
% if value_bytes:
    ${ranks.move_values(wg_size, take, warps)}
% endif
}

${radix.number("radix_number", wg_size)}
