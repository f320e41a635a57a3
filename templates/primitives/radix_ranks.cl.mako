## radix_ranks: each key's index in its tile after a stable sort by an 8-bit digit
##
##   warp        0                 1                32 work-items each; a work-item's keys are 32
##   keys        b a a b | a c ..  a b b c | ..     apart, so a warp reads neighbours
##   counters    a2 b2 c0          a1 b2 c1         [warp, digit], then scanned over warps and
##               a0 b3 c7          a2 b5 c7         added to the digit's start in the tile
##   peers       b: 1001           which of the 32 have the same digit; lower ones come first
##
## Without warps (warps = 0), work-items have neighbouring keys. The tile is sorted by the digit's lower
## 4 bits, then by its upper 4, with counters[4 bits, work-item] as in radix_sort. `first_rank` is a
## key's index after the first of these sorts, `rank` its index after the second.
##
## These are parts of the kernel radix_sweep and use its variables.

<%def name="begin(wg_size, warps)">
% if warps:
    LOCAL u32* counters = (LOCAL u32*)words;
    for (u32 j = id; j < ${warps * 256}; j += ${wg_size}) counters[j] = 0;
% else:
    LOCAL_ARRAY(u32, totals, 256);
    LOCAL_ARRAY(u16, counters, ${16 * wg_size});
    /* PoCL 3.0 shares an array between its threads if it is an argument of three calls: so two arrays. */
    LOCAL_ARRAY(u32, shared_0, ${wg_size});
    LOCAL_ARRAY(u32, shared_4, ${wg_size});
    for (u32 d = id; d < 256; d += ${wg_size}) totals[d] = 0;
% endif
</%def>

<%def name="count(take, warps)">
    for (u32 k = 0; k < ${take}; ++k)
        atomic_add_local_u32(&${"counters[id / 32 * 256 + DIGIT(k)]" if warps else "totals[DIGIT(k)]"}, 1);
    BARRIER();
</%def>

<%def name="counted(warps)">
% if warps:
        for (u32 w = 0; w < ${warps}; ++w) counted += counters[w * 256 + d];
% else:
        counted = totals[d];
% endif
</%def>

<%def name="started(warps)">
% if warps:
        u32 running = next;
        for (u32 w = 0; w < ${warps}; ++w) {
            const u32 of_warp = counters[w * 256 + d];
            counters[w * 256 + d] = running;
            running += of_warp;
        }
% endif
</%def>

<%def name="rank(wg_size, take, warps, match)">
% if warps:
    volatile LOCAL u32* of_warp = counters + id / 32 * 256;
    const u32 below_me = (1u << id % 32) - 1;
    for (u32 k = 0; k < ${take}; ++k) {
        const u32 d = DIGIT(k);
% if match == 1:
        u32 peers;
        WARP_MATCH(peers, d);
% else:
        u32 peers = 0xffffffffu, votes;
% for bit in range(8):
        WARP_BALLOT(votes, d & ${1 << bit}u);
        peers &= (d & ${1 << bit}u) ? votes : ~votes;
% endfor
% endif
        const u32 begin = of_warp[d], below = POPCOUNT(peers & below_me);
        WARP_SYNC(); /* after all have read */
        if (below == 0) of_warp[d] = begin + POPCOUNT(peers);
        WARP_SYNC(); /* before anyone reads the new value */
        rank[k] = begin + below;
    }
    BARRIER(); /* the tile will overwrite the counters */
% else:
    u32 first_rank[${take}];
    ${half("first_rank", 0, wg_size, take)}
    for (u32 k = 0; k < ${take}; ++k) staged[first_rank[k]] = bits[k];
    BARRIER();
    /* Missing keys have the highest digit, so they were last and stay last. */
    for (u32 k = 0; k < ${take}; ++k) bits[k] = staged[MINE(k)];
    BARRIER();
    ${half("rank", 4, wg_size, take)}
% endif
</%def>

<%def name="half(rank, shift, wg_size, take)">
    {
        u32 in_mine = 0, in_all;
        for (u32 d = 0; d < 16; ++d) counters[d * ${wg_size} + id] = 0;
        for (u32 k = 0; k < ${take}; ++k) {
            const u32 at = (DIGIT(k) >> ${shift} & 15u) * ${wg_size} + id;
            counters[at] = (u16)(counters[at] + 1);
        }
        BARRIER();
        for (u32 j = 0; j < 16; ++j) in_mine += counters[id * 16 + j];
        u32 before = scan_u32(in_mine, shared_${shift}, &in_all);
        for (u32 j = 0; j < 16; ++j) {
            const u32 here = counters[id * 16 + j];
            counters[id * 16 + j] = (u16)before;
            before += here;
        }
        BARRIER();
        for (u32 k = 0; k < ${take}; ++k) {
            const u32 at = (DIGIT(k) >> ${shift} & 15u) * ${wg_size} + id;
            ${rank}[k] = counters[at];
            counters[at] = (u16)(${rank}[k] + 1);
        }
    }
</%def>

<%def name="move_values(wg_size, take, warps)">
    GLOBAL const moved_t* values = all_values + column + first;
    GLOBAL moved_t* out_values = all_out_values + column;
    LOCAL moved_t* moved = (LOCAL moved_t*)words;
    moved_t value[${take}];
    for (u32 k = 0; k < ${take}; ++k) value[k] = MINE(k) < count ? values[MINE(k)] : 0;
    BARRIER(); /* the keys have been written */
% if not warps:
    for (u32 k = 0; k < ${take}; ++k) moved[first_rank[k]] = value[k];
    BARRIER();
    for (u32 k = 0; k < ${take}; ++k) value[k] = moved[MINE(k)];
    BARRIER();
% endif
    for (u32 k = 0; k < ${take}; ++k) moved[rank[k]] = value[k];
    BARRIER();
    for (u32 k = 0; k < ${take}; ++k) {
        const u32 at = k * ${wg_size} + id;
        if (at < count) out_values[to[k]] = moved[at];
    }
</%def>
