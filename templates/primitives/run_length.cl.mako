## run_length: runs of equal neighbours: each run's key, and its length or its first value
##
##   keys      a a b | b b c | c a      every group has `chunk` consecutive keys
##   heads     1 0 1 | 0 0 1 | 0 1      a head differs from the key before it
##   counts    2     | 1     | 1        run_counts
##   counts    0     | 2     | 3        run_offsets; n_runs = 4
##   unique    a b c a                  run_heads, with starts 0 2 5 7
##   lengths   2 3 2 1                  run_lengths: next start minus own start
##
## params: wg_size, items (keys of a work-item in a tile), type (u8, u32, u64: compared as bits),
##         value (u8, u32, u64: move first values; empty: compute lengths)
<%page args="wg_size, items, type, value"/>
<%namespace name="group" file="group.cl.mako"/>
<%namespace name="counting" file="counting.cl.mako"/>
<%namespace name="positions" file="positions.cl.mako"/>
<%
    tile = wg_size * items
    second = value or "u32"
    moved = "values[begin + {0}]" if value else "(u32)(begin + {0})"
%>
${group.sum("sum_u32", "u32", wg_size)}
${group.exclusive_scan("scan_u32", "u32", wg_size)}
${counting.offsets("run_offsets", wg_size)}
% if wg_size > 1:
${positions.stage("stage", items)}
% endif

FN u32 is_head(GLOBAL const ${type}* keys, const u64 i) {
    return i == 0 || keys[i] != keys[i - 1];
}
% if wg_size == 1:

/* Number of heads among `count` <= 64 keys. Loops over whole blocks have a fixed length, so that the
   compiler vectorises them. */
FN u32 heads_of(GLOBAL const ${type}* keys, const u64 begin, const u32 count) {
    u32 heads = 0;
    if (begin > 0 && count == 64) {
        GLOBAL const ${type}* mine = keys + begin;
        GLOBAL const ${type}* before = mine - 1;
        for (u32 i = 0; i < 64; ++i) heads += mine[i] != before[i];
    } else {
        for (u32 i = 0; i < count; ++i) heads += is_head(keys, begin + i);
    }
    return heads;
}
% endif

KERNEL(${wg_size}) run_counts(
    GLOBAL const ${type}* RESTRICT keys, const u32 n, const u32 chunk,
    GLOBAL u32* RESTRICT counts) {
    LOCAL_ARRAY(u32, shared, ${wg_size});
    const u64 begin = (u64)GROUP_ID * chunk;
    const u32 count = n - begin < chunk ? (u32)(n - begin) : chunk;
% if wg_size == 1:
    u32 heads = 0;
    for (u32 first = 0; first < count; first += 64)
        heads += heads_of(keys, begin + first, count - first < 64 ? count - first : 64);
% else:
    GLOBAL const ${type}* mine = keys + begin;
    u32 heads = LOCAL_ID == 0 ? is_head(keys, begin) : 0;
    for (u32 i = LOCAL_ID + 1; i < count; i += ${wg_size}) heads += mine[i] != mine[i - 1];
% endif
    const u32 total = sum_u32(heads, shared);
    if (LOCAL_ID == 0) counts[GROUP_ID] = total;
}

/* second: first values, or the runs' starts for run_lengths. */
KERNEL(${wg_size}) run_heads(
    GLOBAL const ${type}* RESTRICT keys, const u32 n, const u32 chunk,
    GLOBAL const u32* RESTRICT offsets, GLOBAL ${type}* RESTRICT unique,
    GLOBAL ${second}* RESTRICT second
% if value:
    , GLOBAL const ${value}* RESTRICT values
% endif
    ) {
    const u64 begin = (u64)GROUP_ID * chunk;
    const u32 count = n - begin < chunk ? (u32)(n - begin) : chunk;
    u32 place = offsets[GROUP_ID];
% if wg_size == 1:
    /* Collect the heads in a list first. Storing every index and advancing by its flag avoids a branch
       that is hard to predict, and loads of many heads' keys and values overlap. */
    u32 heads[128], n_heads = 0;
    for (u32 first = 0; first < count; first += 64) {
        const u32 left = count - first < 64 ? count - first : 64;
        GLOBAL const ${type}* mine = keys + begin + first;
        if (heads_of(keys, begin + first, left) > 0) { /* few blocks, if runs are long */
            heads[n_heads] = first;
            n_heads += is_head(keys, begin + first);
            for (u32 i = 1; i < left; ++i) {
                heads[n_heads] = first + i;
                n_heads += mine[i] != mine[i - 1];
            }
        }
        if (n_heads >= 64 || first + left == count) {
            for (u32 i = 0; i < n_heads; ++i) {
                unique[place + i] = keys[begin + heads[i]];
                second[place + i] = ${moved.format("heads[i]")};
            }
            place += n_heads;
            n_heads = 0;
        }
    }
% else:
    LOCAL_ARRAY(u8, heads, ${tile});
    LOCAL_ARRAY(u16, positions, ${tile});
    LOCAL_ARRAY(u32, shared, ${wg_size});
    for (u32 first = 0; first < count; first += ${tile}) {
        const u32 left = count - first < ${tile} ? count - first : ${tile};
        for (u32 i = LOCAL_ID; i < ${tile}; i += ${wg_size})
            heads[i] = i < left ? (u8)is_head(keys, begin + first + i) : 0;
        BARRIER();
        u32 mask = 0;
        for (u32 k = 0; k < ${items}; ++k) mask |= (u32)heads[LOCAL_ID * ${items} + k] << k;
        const u32 n_heads = stage(mask, positions, shared);
        for (u32 i = LOCAL_ID; i < n_heads; i += ${wg_size}) {
            const u32 at = first + positions[i];
            unique[place + i] = keys[begin + at];
            second[place + i] = ${moved.format("at")};
        }
        place += n_heads;
        BARRIER();
    }
% endif
}
% if not value:

KERNEL(${wg_size}) run_lengths(
    GLOBAL const u32* RESTRICT starts, const u32 n, GLOBAL const u32* RESTRICT n_runs,
    GLOBAL u32* RESTRICT lengths) {
    const u32 runs = n_runs[0], share = (runs + N_GROUPS - 1) / N_GROUPS;
    const u64 begin = (u64)GROUP_ID * share, end = begin + share < runs ? begin + share : runs;
    for (u64 run = begin + LOCAL_ID; run < end; run += ${wg_size})
        lengths[run] = (run + 1 < runs ? starts[run + 1] : n) - starts[run];
}
% endif
