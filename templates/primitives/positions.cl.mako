## positions: list the positions of a tile's set flags, so that neighbouring work-items write neighbours
##
##   flags       0 1 1 0 | 1 0 0 1     every work-item has `items` neighbours, as bits of a mask
##   positions   1 2 4 7               in local memory; then work-item i takes position i
##
## Needs group.exclusive_scan as scan_u32, and at most 32 items.

<%def name="flag_words()">
/* A word with 1 in every byte that is not 0 in `word`. */
FN u32 set_bytes(const u32 word) {
    return ((((word & 0x7f7f7f7fu) + 0x7f7f7f7fu) | word) >> 7) & 0x01010101u;
}
FN u32 sum_of_bytes(const u32 bytes) { return (bytes * 0x01010101u) >> 24; }
</%def>

## Bit k of the result: flag `mine` + k is set. `flags` begin at a multiple of `items`.
<%def name="flag_mask(name, items)">
FN u32 ${name}(GLOBAL const u8* flags, const u32 mine, const u32 count) {
    u32 mask = 0;
% if items % 4 == 0:
    if (mine < count && count - mine >= ${items}) {
        GLOBAL const u32* words = (GLOBAL const u32*)(flags + mine);
% for k in range(items // 4):
        mask |= ((set_bytes(words[${k}]) * 0x01020408u) >> 24) << ${4 * k};
% endfor
        return mask;
    }
% endif
    for (u32 k = 0; k < ${items}; ++k)
        if (mine + k < count) mask |= (u32)(flags[mine + k] != 0) << k;
    return mask;
}
</%def>

## Number of set flags before position k of a tile: `before` of its work-item, and bits of its mask.
<%def name="ranks(name, items)">
FN u32 count_bits(const u32 mask) {
    const u32 pairs = mask - ((mask >> 1) & 0x55555555u);
    const u32 fours = (pairs & 0x33333333u) + ((pairs >> 2) & 0x33333333u);
    return (((fours + (fours >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24;
}
FN u32 ${name}(const u32 k, LOCAL const u32* masks, LOCAL const u32* before) {
    const u32 own = (1u << (k % ${items})) - 1u;
    return before[k / ${items}] + count_bits(masks[k / ${items}] & own);
}
</%def>

## Write the positions; return their number. All work-items call it, after a BARRIER() behind the last
## use of `positions`. It ends with a BARRIER().
<%def name="stage(name, items)">
FN u32 ${name}(const u32 mask, LOCAL u16* positions, LOCAL u32* shared) {
    const u32 mine = LOCAL_ID * ${items};
    u32 n = 0, total;
    for (u32 k = 0; k < ${items}; ++k) n += (mask >> k) & 1u;
    u32 to = scan_u32(n, shared, &total);
    for (u32 k = 0; k < ${items}; ++k)
        if ((mask >> k) & 1u) positions[to++] = (u16)(mine + k);
    BARRIER();
    return total;
}
</%def>

## counts[group] = number of set flags in the group's chunk; on GPUs 16 flags are read at a time.
<%def name="flag_counts(name, wg_size, items)">
KERNEL(${wg_size}) ${name}(
    GLOBAL const u8* RESTRICT flags, const u32 n, const u32 chunk, GLOBAL u32* RESTRICT counts) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u64 begin = (u64)GROUP_ID * chunk;
    const u32 count = n - begin < chunk ? (u32)(n - begin) : chunk;
    u32 mine = 0, done = 0;
% if wg_size > 1 and (wg_size * items) % 16 == 0:
    GLOBAL const u32x4* words = (GLOBAL const u32x4*)(flags + begin);
    for (u32 i = LOCAL_ID; i < count / 16; i += ${wg_size}) {
        const u32x4 w = words[i];
        mine += sum_of_bytes(
            set_bytes(w.x) + set_bytes(w.y) + set_bytes(w.z) + set_bytes(w.w));
    }
    done = count / 16 * 16;
% endif
    for (u32 i = done + LOCAL_ID; i < count; i += ${wg_size}) mine += flags[begin + i] != 0;
    const u32 total = sum_u32(mine, shared);
    if (LOCAL_ID == 0) counts[GROUP_ID] = total;
}
</%def>
