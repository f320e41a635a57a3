## histogram: pool[node.slot, code] += (g, h) of the node's rows   (fixed point; same bits in every
##            variant), for the nodes of a level whose histogram is built from rows
## uses: structs tasks
##
##   tasks    |n0 n0 n0|n2|n2 n2|n5|       chunks of rows; task_begin[node] says where a node's start
##   groups   |--g0--|--g1--|---g2--|      each takes a run of tasks, one node after the other
##
##   A node inside one group goes straight to the pool; a node that straddles groups (n0, n2) goes
##   through int64 atomics, or to two partial histograms a group, added up by `reduce`.
##   Local accumulators are 32 bits wide; what overflows them is carried to the 64-bit target.
##
## params: wg_size; cpu (one private 64-bit histogram a group); partials (no 64-bit atomics);
##         ranged (groups hold ranges of codes that may begin inside a feature);
##         capacity, codes that fit the local accumulators; chunk, rows a task;
##         block, codes in a load of 16 bytes (16 of one byte or 8 of two); unroll, over a block;
##         one_block, no group's features lie in more than one block
<%page args="wg_size, cpu, partials, ranged, capacity, chunk, block, unroll, one_block"/>
<%
    per_word = block // 4
    bits = 32 // per_word
%>

% if not cpu:
/* Add to a 32-bit accumulator; return what belongs to the high word of the sum. */
FN i32 add_with_carry(LOCAL i32* cell, const i32 value) {
    const i32 old = atomic_add_local_i32(cell, value);
    const i32 sum = (i32)((u32)old + (u32)value);
    if (((old ^ sum) & (value ^ sum)) < 0) return value < 0 ? -1 : 1;
    return 0;
}

FN void add_high(GLOBAL i64* cell, const i32 high) {
% if partials:
    if (high) atomic_add_global_i32((GLOBAL i32*)cell + 1, high);
% else:
    if (high) atomic_add_global_i64(cell, (i64)high << 32);
% endif
}
% endif

/* One code of one row, for features (and codes) of this group. */
#define ADD(feature, code) \
    if ((feature) >= feature_begin && (feature) < feature_end) { \
        const u32 c = code; \
% if ranged:
        if (c >= code_begin && c < code_end) { \
% else:
        { \
% endif
% if cpu:
            target[2 * c] += g; \
            target[2 * c + 1] += h; \
% else:
            const i32 carry_g = high_g + add_with_carry(&local_g[c - code_begin], g); \
            const i32 carry_h = high_h + add_with_carry(&local_h[c - code_begin], h); \
            add_high(&target[2 * c], carry_g); \
            add_high(&target[2 * c + 1], carry_h); \
% endif
        } \
    }

KERNEL(${wg_size}) histogram(
        const u32 depth, const u32 row_blocks, const u32 n_codes,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL const u32* RESTRICT rows,
        GLOBAL const u32x4* RESTRICT codes, GLOBAL const i32* RESTRICT quanta,
        GLOBAL const i32* RESTRICT high, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32x4* RESTRICT feature_offset, GLOBAL const u32* RESTRICT ranges,
        GLOBAL i64* pool, GLOBAL i64* partial) {
% if not cpu:
    LOCAL_ARRAY(i32, local_g, ${capacity});
    LOCAL_ARRAY(i32, local_h, ${capacity});
% endif
    const u32 n_tasks = levels[depth].hist_tasks;
    const u32 my_first = first_task(n_tasks, GROUP_ID_Y, N_GROUPS_Y);
    const u32 my_last = first_task(n_tasks, GROUP_ID_Y + 1, N_GROUPS_Y);
    if (my_first == my_last) return;
    /* a range of codes [code_begin, code_end) and the features that it touches */
    const u32 feature_begin = ranges[4 * GROUP_ID], feature_end = ranges[4 * GROUP_ID + 1];
    const u32 code_begin = ranges[4 * GROUP_ID + 2], code_end = ranges[4 * GROUP_ID + 3];
    const u32 first_node = levels[depth].first, n_nodes = levels[depth].count;
    const u32 wide = scale->wide;

% if unroll and one_block:
    const u32 only_block = feature_begin / ${block};
% for quarter in range(block // 4):
    const u32x4 offset_${quarter} = feature_offset[only_block * ${block // 4} + ${quarter}];
% endfor
% endif

    u32 task = my_first;
    u32 index = find_node(task_begin, n_nodes, task);
    while (task < my_last) {
        while (task_begin[index + 1] <= task) index++;
        GLOBAL const node_t* node = &nodes[first_node + index];
        const u32 node_first = task_begin[index], node_last = task_begin[index + 1];
        const u32 task_end = node_last < my_last ? node_last : my_last;
        const u32 begin = node->begin + (task - node_first) * ${chunk};
        const u32 node_end = node->begin + node->count;
        u32 end = node->begin + (task_end - node_first) * ${chunk};
        if (end > node_end || task_end == node_last) end = node_end;
        GLOBAL i64* target = pool + 2 * (u64)node->slot * n_codes;
% if partials or cpu:
        if (node_first < my_first) target = partial + 4 * (u64)GROUP_ID_Y * n_codes;
        else if (node_last > my_last) target = partial + (4 * (u64)GROUP_ID_Y + 2) * n_codes;
        for (u32 c = 2 * code_begin + LOCAL_ID; c < 2 * code_end; c += ${wg_size}) target[c] = 0;
% endif
% if not cpu:
        for (u32 c = LOCAL_ID; c < code_end - code_begin; c += ${wg_size}) {
            local_g[c] = 0;
            local_h[c] = 0;
        }
        BARRIER();
% endif
        for (u32 position = begin + LOCAL_ID; position < end; position += ${wg_size}) {
            const u32 row = rows[position];
% if cpu:
            i64 g = quanta[2 * (u64)row], h = quanta[2 * (u64)row + 1];
            if (wide) {
                g += (i64)high[2 * (u64)row] << 32;
                h += (i64)high[2 * (u64)row + 1] << 32;
            }
% else:
            const i32 g = quanta[2 * (u64)row], h = quanta[2 * (u64)row + 1];
            const i32 high_g = wide ? high[2 * (u64)row] : 0;
            const i32 high_h = wide ? high[2 * (u64)row + 1] : 0;
% endif
            GLOBAL const u32x4* row_codes = codes + (u64)row * row_blocks;
% if not unroll:
            GLOBAL const ${"u8" if block == 16 else "u16"}* each =
                (GLOBAL const ${"u8" if block == 16 else "u16"}*)row_codes;
            for (u32 feature = feature_begin; feature < feature_end; feature++) {
                ADD(feature, ((GLOBAL const u32*)feature_offset)[feature] + each[feature])
            }
% else:
% if one_block:
            {
                const u32 at = only_block;
% else:
            for (u32 at = feature_begin / ${block}; at * ${block} < feature_end; at++) {
% endif
                const u32x4 packed = row_codes[at];
% for quarter in range(block // 4):
                {
% if one_block:
                    const u32x4 offset = offset_${quarter};
% else:
                    const u32x4 offset = feature_offset[at * ${block // 4} + ${quarter}];
% endif
% for k, lane in enumerate("xyzw"):
<%
    place = 4 * quarter + k
    word = "xyzw"[place // per_word]
    shift = bits * (place % per_word)
%>
                    ADD(at * ${block} + ${place}, offset.${lane} + ((packed.${word} >> ${shift}) & ${2**bits - 1}))
% endfor
                }
% endfor
            }
% endif
        }
% if not cpu:
        BARRIER();
        for (u32 c = LOCAL_ID; c < code_end - code_begin; c += ${wg_size}) {
            GLOBAL i64* cell = target + 2 * (code_begin + c);
% if partials:
            cell[0] += local_g[c];
            cell[1] += local_h[c];
% else:
            if (local_g[c]) atomic_add_global_i64(&cell[0], (i64)local_g[c]);
            if (local_h[c]) atomic_add_global_i64(&cell[1], (i64)local_h[c]);
% endif
        }
        BARRIER();
% endif
        task = task_end;
    }
}

/* Zero the pool slots that `histogram` will add to. */
KERNEL(${wg_size}) clear(
        const u32 depth, const u32 n_codes, GLOBAL const level_t* RESTRICT levels,
        GLOBAL const node_t* RESTRICT nodes, GLOBAL const u32* RESTRICT task_begin,
        GLOBAL i64* RESTRICT pool) {
    const u32 first = levels[depth].first, count = levels[depth].count;
    for (u32 index = GROUP_ID_Y; index < count; index += N_GROUPS_Y) {
        if (task_begin[index] == task_begin[index + 1]) continue;
        GLOBAL i64* target = pool + 2 * (u64)nodes[first + index].slot * n_codes;
        for (u32 c = GROUP_ID * ${wg_size} + LOCAL_ID; c < 2 * n_codes; c += N_GROUPS * ${wg_size})
            target[c] = 0;
    }
}

/* Add up the partial histograms of a node that straddles groups: the group after its first one. */
KERNEL(${wg_size}) reduce(
        const u32 depth, const u32 n_codes, const u32 n_groups,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL i64* RESTRICT pool,
        GLOBAL const i64* RESTRICT partial) {
    const u32 n_tasks = levels[depth].hist_tasks;
    const u32 group = GROUP_ID_Y;
    const u32 my_first = first_task(n_tasks, group, n_groups);
    if (my_first == first_task(n_tasks, group + 1, n_groups)) return;
    const u32 index = find_node(task_begin, levels[depth].count, my_first);
    const u32 node_first = task_begin[index], node_last = task_begin[index + 1];
    if (node_first == my_first) return;
    const u32 first_group = (u32)((((u64)node_first + 1) * n_groups - 1) / n_tasks);
    if (first_task(n_tasks, first_group + 1, n_groups) != my_first) return;
    const u32 last_group = (u32)(((u64)node_last * n_groups - 1) / n_tasks);
    GLOBAL i64* target = pool + 2 * (u64)nodes[levels[depth].first + index].slot * n_codes;
    const u32 begin = (u32)(2 * (u64)n_codes * GROUP_ID / N_GROUPS);
    const u32 end = (u32)(2 * (u64)n_codes * (GROUP_ID + 1) / N_GROUPS);
    for (u32 c = begin + LOCAL_ID; c < end; c += ${wg_size}) {
        i64 sum = partial[(4 * (u64)first_group + 2) * n_codes + c];
        for (u32 g = first_group + 1; g <= last_group; g++) {
            if (first_task(n_tasks, g, n_groups) < first_task(n_tasks, g + 1, n_groups))
                sum += partial[4 * (u64)g * n_codes + c];
        }
        target[c] = sum;
    }
}
