












typedef struct {
    u32 node_first, node_last; /* the node's tasks: the first, and the first behind them */
    u32 last;                  /* the first task behind the piece */
    u32 begin, end;            /* its rows, by their places in the node's row list */
    u32 base;                  /* where the node's tree has its quanta */
    u32 in_order;              /* the node has all rows, and no list */
} piece_t;

/* The piece that begins with a task; `task_begin` points to the entry of the task's node. */
FN piece_t piece_of(GLOBAL const node_t* node, GLOBAL const u32* task_begin, const u32 task,
                    const u32 my_last, const u32 n_rows) {
    const u32 node_end = node->begin + node->count;
    piece_t piece;
    piece.node_first = task_begin[0];
    piece.node_last = task_begin[1];
    piece.last = piece.node_last < my_last ? piece.node_last : my_last;
    piece.begin = node->begin + (task - piece.node_first) * 2048;
    piece.end = node->begin + (piece.last - piece.node_first) * 2048;
    if (piece.end > node_end || piece.last == piece.node_last) piece.end = node_end;
    piece.base = node->tree * n_rows;
    piece.in_order = node->in_order;
    return piece;
}


/* Hessians are seldom below 0, so their sums begin near the least number: they have twice the room. */
#define FIRST_HESSIAN (-0x7c000000)
#define PLUS(a, b) ((i32)((u32)(a) + (u32)(b)))
/* A bit pattern whose sign bit is set where old + value leaves the range of 32 bits. */
#define OVERFLOW(old, value) (((old) ^ PLUS(old, value)) & ((value) ^ PLUS(old, value)))

/* What overflowed, with the quanta's own high word. */
FN i32 carried(const i32 old, const i32 value, const i32 high) {
    return high + (OVERFLOW(old, value) < 0 ? (value < 0 ? -1 : 1) : 0);
}

#define TURNED(word) ((u32)((((u64)(word) << 32) | (word)) >> shift))

/* Put the code of the work-item's first feature first: swap words, and turn each of them. */
FN u32x4 turn(u32x4 b, const u32 lane) {
    const u32 word = lane / 4;
    if (word & 2) b = MAKE_U32X4(b.z, b.w, b.x, b.y);
    if (word & 1) b = MAKE_U32X4(b.y, b.x, b.w, b.z);
    const u32 shift = lane % 4 * 8;
    return MAKE_U32X4(TURNED(b.x), TURNED(b.y), TURNED(b.z), TURNED(b.w));
}

/* A block's features and codes, as `ranges` has them. */
typedef struct { GLOBAL const u32* offset; u32 first, n_places, code_begin, code_end; } block_t;

FN block_t block_of(GLOBAL const u32* ranges, GLOBAL const u32* place_offset) {
    block_t block;
    block.first = ranges[0] / 16;
    block.offset = place_offset + ranges[0];
    block.n_places = ranges[1] - ranges[0];
    block.code_begin = ranges[2];
    block.code_end = ranges[3];
    return block;
}

/* The most codes of a feature of the block. */
FN u32 most_codes(const block_t block) {
    u32 most = block.code_end - block.offset[block.n_places - 1];
    for (u32 place = 1; place < block.n_places; place++) {
        const u32 own = block.offset[place] - block.offset[place - 1];
        most = own > most ? own : most;
    }
    return most;
}

FN void clear_sums(LOCAL i32* sums, const u32 codes) {
    for (u32 c = LOCAL_ID; c < codes * 32; c += 512) {
        const i32 first = c & 16 ? FIRST_HESSIAN : 0;
        sums[c + 0] = first;
        sums[c + 4096] = first;
    }
}

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

#define CARRY(number, cell, old_one, old_two)     if ((cell) % 16 < block_##number.n_places) {         const i32 all_one = carried(old_one, one, swapped ? high.y : high.x);         const i32 all_two = carried(old_two, two, swapped ? high.x : high.y);         carry(target, sum_begin + 2 * (16 * block_##number.first + (cell) % 16), sums_of, (cell) / 32,               swapped ? all_two : all_one, swapped ? all_one : all_two);     }

FN void clear_joint(GLOBAL i64* target, const block_t block, GLOBAL const u32* sum_begin,
                    GLOBAL const u32* sums_of) {
    for (u32 unit = LOCAL_ID; unit < 512; unit += 512) {
        const u32 part = unit & 1, place = unit >> 1 & 15;
        if (place >= block.n_places) continue;
        GLOBAL const u32* own = sum_begin + 2 * (16 * block.first + place);
        for (u32 at = own[0] + unit / 32; at < own[1]; at += 16) {
            GLOBAL i64* to = target + 2 * sums_of[2 * at] + part;
            
            *to = 0;

        }
    }

}

/* Write the sums of a block's features; alone: no other group adds to them. */
FN void write_joint(GLOBAL i64* target, LOCAL const i32* sums, const block_t block, const int alone,
                    GLOBAL const u32* sum_begin, GLOBAL const u32* sums_of) {
    for (u32 unit = LOCAL_ID; unit < 512; unit += 512) {
        const u32 part = unit & 1, place = unit >> 1 & 15;
        if (place >= block.n_places) continue;
        GLOBAL const u32* own = sum_begin + 2 * (16 * block.first + place);
        for (u32 at = own[0] + unit / 32; at < own[1]; at += 16) {
            GLOBAL i64* to = target + 2 * sums_of[2 * at] + part;
            
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

        }
    }

}


/* From the sums of a pair's first block to those of its second one. */
#define HALF_0 0
#define HALF_1 (4096 * LOCAL_STEP)

/* The row at a place of a piece; behind its end it is the last one. */
#define ROW_AT(at) row_at(rows, (at) < piece.end ? (at) : piece.end - 1, base, piece.in_order)
FN u32 row_at(GLOBAL const u32* rows, const u32 at, const u32 base, const u32 in_order) {
    return in_order ? at - base : rows[at];
}
#define CODES_OF(row) ((u64)((row) - first_row) * row_stride + own_block)

/* two groups of 512 have the registers of a multiprocessor; with more for each, only one would run */
#undef GROUPS_OF_A_UNIT
#define GROUPS_OF_A_UNIT 2
KERNEL(512) histogram(
        const u32 depth, const u32 row_stride, const u32 block_stride, const u32 paired, const u32 n_codes,
        const u32 n_ranges, GLOBAL const u32* RESTRICT sum_begin, GLOBAL const u32* RESTRICT sums_of, const u32 n_rows, const u32 first_row,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL const u32* RESTRICT even_rows,
        GLOBAL const u32* RESTRICT odd_rows,
        GLOBAL const u32x4* RESTRICT codes, GLOBAL const i32x2* RESTRICT quanta,
        GLOBAL const i32x2* RESTRICT high_words, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT place_offset, GLOBAL const u32x4* RESTRICT fullest,
        GLOBAL const u32* RESTRICT ranges, GLOBAL i64* pool, GLOBAL i64* partial) {
    LOCAL_LARGE(i32, sums, 8192);
    (void)fullest;
    (void)partial;
    const u32 n_tasks = levels[depth].hist_tasks;
    const u32 my_first = first_task(n_tasks, GROUP_ID_Y, N_GROUPS_Y);
    const u32 my_last = first_task(n_tasks, GROUP_ID_Y + 1, N_GROUPS_Y);
    if (my_first == my_last) return;
    const block_t block_0 = block_of(ranges + 8 * GROUP_ID, place_offset);
    const u64 own_block = block_at(block_0.first, block_stride, paired, 1);
    const int has_both = 2 * GROUP_ID + 1 < n_ranges; /* the last block may be alone */
    const block_t block_1 = block_of(ranges + 8 * GROUP_ID + (has_both ? 4 : 0), place_offset);
    const u32 most_0 = most_codes(block_0), most_1 = most_codes(block_1);
    const u32 most = most_0 > most_1 ? most_0 : most_1;
    const u32 swapped = LOCAL_ID & 16; /* adds Hessians first */
    /* from the place of a feature's one sum to that of the other */
    const i32 other = KEPT(swapped ? -16 * LOCAL_STEP : 16 * LOCAL_STEP);
    const u32 start = KEPT(LOCAL_START(sums)), lane = KEPT(LOCAL_ID % 32);
    const u32 bank_0 = LOCAL_ID % 32 / 4 * 4 + (LOCAL_ID + 0) % 4;
    const u32 place_0 = KEPT(start + bank_0 * LOCAL_STEP);
    const u32 bank_1 = LOCAL_ID % 32 / 4 * 4 + (LOCAL_ID + 1) % 4;
    const u32 place_1 = KEPT(start + bank_1 * LOCAL_STEP);
    const u32 bank_2 = LOCAL_ID % 32 / 4 * 4 + (LOCAL_ID + 2) % 4;
    const u32 place_2 = KEPT(start + bank_2 * LOCAL_STEP);
    const u32 bank_3 = LOCAL_ID % 32 / 4 * 4 + (LOCAL_ID + 3) % 4;
    const u32 place_3 = KEPT(start + bank_3 * LOCAL_STEP);


    const u32 first_node = levels[depth].first, n_nodes = levels[depth].count;
    u32 task = my_first;
    u32 index = find_node(task_begin, n_nodes, task);
    while (task < my_last) {
        while (task_begin[index + 1] <= task) index++;
        GLOBAL const node_t* node = &nodes[first_node + index];
        const piece_t piece = piece_of(node, task_begin + index, task, my_last, n_rows);
        GLOBAL const u32* rows = node->depth % 2 ? odd_rows : even_rows;
        const u32 wide = scale[node->tree].wide;
        GLOBAL i64* target = pool + 2 * (u64)node->slot * n_codes;
        /* `partition` clears what several groups may add to */
        const int alone = piece.node_last - piece.node_first == 1, clears = alone;
        (void)alone;
        
        const i32 wide_sign = wide ? -1 : 0;
        if (clears) clear_joint(target, block_0, sum_begin, sums_of);
        if (clears && has_both) clear_joint(target, block_1, sum_begin, sums_of);
        clear_sums(sums, most);
        BARRIER();
        const u32 base = KEPT(piece.base);
        u32 next_row = 0;
        if (piece.begin < piece.end) {
            next_row = ROW_AT(piece.begin + LOCAL_ID);
        }
        for (u32 position = piece.begin + LOCAL_ID; position < piece.end; position += 512) {
            const u32 row = next_row;
            const i32x2 low = quanta[base + row];
            const u32x4 front = codes[CODES_OF(row)], behind = codes[CODES_OF(row) + has_both];
            next_row = ROW_AT(position + 512);
            const i32 one = swapped ? low.y : low.x, two = swapped ? low.x : low.y;
            const u32x4 own_0 = turn(front, lane);

            {
                const u32 cell_0 = BYTE_TIMES(own_0.x, 0, 32 * LOCAL_STEP, (place_0 ^ 0 * LOCAL_STEP));
                const i32 old_one_0 = atomic_add_local_at(sums, cell_0, HALF_0, one);
                const i32 old_two_0 = atomic_add_local_at(sums, cell_0 + other, HALF_0, two);
                const u32 cell_1 = BYTE_TIMES(own_0.x, 1, 32 * LOCAL_STEP, (place_1 ^ 0 * LOCAL_STEP));
                const i32 old_one_1 = atomic_add_local_at(sums, cell_1, HALF_0, one);
                const i32 old_two_1 = atomic_add_local_at(sums, cell_1 + other, HALF_0, two);
                const u32 cell_2 = BYTE_TIMES(own_0.x, 2, 32 * LOCAL_STEP, (place_2 ^ 0 * LOCAL_STEP));
                const i32 old_one_2 = atomic_add_local_at(sums, cell_2, HALF_0, one);
                const i32 old_two_2 = atomic_add_local_at(sums, cell_2 + other, HALF_0, two);
                const u32 cell_3 = BYTE_TIMES(own_0.x, 3, 32 * LOCAL_STEP, (place_3 ^ 0 * LOCAL_STEP));
                const i32 old_one_3 = atomic_add_local_at(sums, cell_3, HALF_0, one);
                const i32 old_two_3 = atomic_add_local_at(sums, cell_3 + other, HALF_0, two);
                i32 wide = wide_sign;
                wide |= OVERFLOW(old_one_0, one) | OVERFLOW(old_two_0, two);
                wide |= OVERFLOW(old_one_1, one) | OVERFLOW(old_two_1, two);
                wide |= OVERFLOW(old_one_2, one) | OVERFLOW(old_two_2, two);
                wide |= OVERFLOW(old_one_3, one) | OVERFLOW(old_two_3, two);
                if (wide < 0) {
                    i32x2 high = MAKE_I32X2(0, 0);
                    if (wide_sign) high = high_words[base + row];
                    CARRY(0, (cell_0 - start) / LOCAL_STEP, old_one_0, old_two_0)
                    CARRY(0, (cell_1 - start) / LOCAL_STEP, old_one_1, old_two_1)
                    CARRY(0, (cell_2 - start) / LOCAL_STEP, old_one_2, old_two_2)
                    CARRY(0, (cell_3 - start) / LOCAL_STEP, old_one_3, old_two_3)
                }
            }
            {
                const u32 cell_4 = BYTE_TIMES(own_0.y, 0, 32 * LOCAL_STEP, (place_0 ^ 4 * LOCAL_STEP));
                const i32 old_one_4 = atomic_add_local_at(sums, cell_4, HALF_0, one);
                const i32 old_two_4 = atomic_add_local_at(sums, cell_4 + other, HALF_0, two);
                const u32 cell_5 = BYTE_TIMES(own_0.y, 1, 32 * LOCAL_STEP, (place_1 ^ 4 * LOCAL_STEP));
                const i32 old_one_5 = atomic_add_local_at(sums, cell_5, HALF_0, one);
                const i32 old_two_5 = atomic_add_local_at(sums, cell_5 + other, HALF_0, two);
                const u32 cell_6 = BYTE_TIMES(own_0.y, 2, 32 * LOCAL_STEP, (place_2 ^ 4 * LOCAL_STEP));
                const i32 old_one_6 = atomic_add_local_at(sums, cell_6, HALF_0, one);
                const i32 old_two_6 = atomic_add_local_at(sums, cell_6 + other, HALF_0, two);
                const u32 cell_7 = BYTE_TIMES(own_0.y, 3, 32 * LOCAL_STEP, (place_3 ^ 4 * LOCAL_STEP));
                const i32 old_one_7 = atomic_add_local_at(sums, cell_7, HALF_0, one);
                const i32 old_two_7 = atomic_add_local_at(sums, cell_7 + other, HALF_0, two);
                i32 wide = wide_sign;
                wide |= OVERFLOW(old_one_4, one) | OVERFLOW(old_two_4, two);
                wide |= OVERFLOW(old_one_5, one) | OVERFLOW(old_two_5, two);
                wide |= OVERFLOW(old_one_6, one) | OVERFLOW(old_two_6, two);
                wide |= OVERFLOW(old_one_7, one) | OVERFLOW(old_two_7, two);
                if (wide < 0) {
                    i32x2 high = MAKE_I32X2(0, 0);
                    if (wide_sign) high = high_words[base + row];
                    CARRY(0, (cell_4 - start) / LOCAL_STEP, old_one_4, old_two_4)
                    CARRY(0, (cell_5 - start) / LOCAL_STEP, old_one_5, old_two_5)
                    CARRY(0, (cell_6 - start) / LOCAL_STEP, old_one_6, old_two_6)
                    CARRY(0, (cell_7 - start) / LOCAL_STEP, old_one_7, old_two_7)
                }
            }
            {
                const u32 cell_8 = BYTE_TIMES(own_0.z, 0, 32 * LOCAL_STEP, (place_0 ^ 8 * LOCAL_STEP));
                const i32 old_one_8 = atomic_add_local_at(sums, cell_8, HALF_0, one);
                const i32 old_two_8 = atomic_add_local_at(sums, cell_8 + other, HALF_0, two);
                const u32 cell_9 = BYTE_TIMES(own_0.z, 1, 32 * LOCAL_STEP, (place_1 ^ 8 * LOCAL_STEP));
                const i32 old_one_9 = atomic_add_local_at(sums, cell_9, HALF_0, one);
                const i32 old_two_9 = atomic_add_local_at(sums, cell_9 + other, HALF_0, two);
                const u32 cell_10 = BYTE_TIMES(own_0.z, 2, 32 * LOCAL_STEP, (place_2 ^ 8 * LOCAL_STEP));
                const i32 old_one_10 = atomic_add_local_at(sums, cell_10, HALF_0, one);
                const i32 old_two_10 = atomic_add_local_at(sums, cell_10 + other, HALF_0, two);
                const u32 cell_11 = BYTE_TIMES(own_0.z, 3, 32 * LOCAL_STEP, (place_3 ^ 8 * LOCAL_STEP));
                const i32 old_one_11 = atomic_add_local_at(sums, cell_11, HALF_0, one);
                const i32 old_two_11 = atomic_add_local_at(sums, cell_11 + other, HALF_0, two);
                i32 wide = wide_sign;
                wide |= OVERFLOW(old_one_8, one) | OVERFLOW(old_two_8, two);
                wide |= OVERFLOW(old_one_9, one) | OVERFLOW(old_two_9, two);
                wide |= OVERFLOW(old_one_10, one) | OVERFLOW(old_two_10, two);
                wide |= OVERFLOW(old_one_11, one) | OVERFLOW(old_two_11, two);
                if (wide < 0) {
                    i32x2 high = MAKE_I32X2(0, 0);
                    if (wide_sign) high = high_words[base + row];
                    CARRY(0, (cell_8 - start) / LOCAL_STEP, old_one_8, old_two_8)
                    CARRY(0, (cell_9 - start) / LOCAL_STEP, old_one_9, old_two_9)
                    CARRY(0, (cell_10 - start) / LOCAL_STEP, old_one_10, old_two_10)
                    CARRY(0, (cell_11 - start) / LOCAL_STEP, old_one_11, old_two_11)
                }
            }
            {
                const u32 cell_12 = BYTE_TIMES(own_0.w, 0, 32 * LOCAL_STEP, (place_0 ^ 12 * LOCAL_STEP));
                const i32 old_one_12 = atomic_add_local_at(sums, cell_12, HALF_0, one);
                const i32 old_two_12 = atomic_add_local_at(sums, cell_12 + other, HALF_0, two);
                const u32 cell_13 = BYTE_TIMES(own_0.w, 1, 32 * LOCAL_STEP, (place_1 ^ 12 * LOCAL_STEP));
                const i32 old_one_13 = atomic_add_local_at(sums, cell_13, HALF_0, one);
                const i32 old_two_13 = atomic_add_local_at(sums, cell_13 + other, HALF_0, two);
                const u32 cell_14 = BYTE_TIMES(own_0.w, 2, 32 * LOCAL_STEP, (place_2 ^ 12 * LOCAL_STEP));
                const i32 old_one_14 = atomic_add_local_at(sums, cell_14, HALF_0, one);
                const i32 old_two_14 = atomic_add_local_at(sums, cell_14 + other, HALF_0, two);
                const u32 cell_15 = BYTE_TIMES(own_0.w, 3, 32 * LOCAL_STEP, (place_3 ^ 12 * LOCAL_STEP));
                const i32 old_one_15 = atomic_add_local_at(sums, cell_15, HALF_0, one);
                const i32 old_two_15 = atomic_add_local_at(sums, cell_15 + other, HALF_0, two);
                i32 wide = wide_sign;
                wide |= OVERFLOW(old_one_12, one) | OVERFLOW(old_two_12, two);
                wide |= OVERFLOW(old_one_13, one) | OVERFLOW(old_two_13, two);
                wide |= OVERFLOW(old_one_14, one) | OVERFLOW(old_two_14, two);
                wide |= OVERFLOW(old_one_15, one) | OVERFLOW(old_two_15, two);
                if (wide < 0) {
                    i32x2 high = MAKE_I32X2(0, 0);
                    if (wide_sign) high = high_words[base + row];
                    CARRY(0, (cell_12 - start) / LOCAL_STEP, old_one_12, old_two_12)
                    CARRY(0, (cell_13 - start) / LOCAL_STEP, old_one_13, old_two_13)
                    CARRY(0, (cell_14 - start) / LOCAL_STEP, old_one_14, old_two_14)
                    CARRY(0, (cell_15 - start) / LOCAL_STEP, old_one_15, old_two_15)
                }
            }
            if (!has_both) continue;
            const u32x4 own_1 = turn(behind, lane);

            {
                const u32 cell_0 = BYTE_TIMES(own_1.x, 0, 32 * LOCAL_STEP, (place_0 ^ 0 * LOCAL_STEP));
                const i32 old_one_0 = atomic_add_local_at(sums, cell_0, HALF_1, one);
                const i32 old_two_0 = atomic_add_local_at(sums, cell_0 + other, HALF_1, two);
                const u32 cell_1 = BYTE_TIMES(own_1.x, 1, 32 * LOCAL_STEP, (place_1 ^ 0 * LOCAL_STEP));
                const i32 old_one_1 = atomic_add_local_at(sums, cell_1, HALF_1, one);
                const i32 old_two_1 = atomic_add_local_at(sums, cell_1 + other, HALF_1, two);
                const u32 cell_2 = BYTE_TIMES(own_1.x, 2, 32 * LOCAL_STEP, (place_2 ^ 0 * LOCAL_STEP));
                const i32 old_one_2 = atomic_add_local_at(sums, cell_2, HALF_1, one);
                const i32 old_two_2 = atomic_add_local_at(sums, cell_2 + other, HALF_1, two);
                const u32 cell_3 = BYTE_TIMES(own_1.x, 3, 32 * LOCAL_STEP, (place_3 ^ 0 * LOCAL_STEP));
                const i32 old_one_3 = atomic_add_local_at(sums, cell_3, HALF_1, one);
                const i32 old_two_3 = atomic_add_local_at(sums, cell_3 + other, HALF_1, two);
                i32 wide = wide_sign;
                wide |= OVERFLOW(old_one_0, one) | OVERFLOW(old_two_0, two);
                wide |= OVERFLOW(old_one_1, one) | OVERFLOW(old_two_1, two);
                wide |= OVERFLOW(old_one_2, one) | OVERFLOW(old_two_2, two);
                wide |= OVERFLOW(old_one_3, one) | OVERFLOW(old_two_3, two);
                if (wide < 0) {
                    i32x2 high = MAKE_I32X2(0, 0);
                    if (wide_sign) high = high_words[base + row];
                    CARRY(1, (cell_0 - start) / LOCAL_STEP, old_one_0, old_two_0)
                    CARRY(1, (cell_1 - start) / LOCAL_STEP, old_one_1, old_two_1)
                    CARRY(1, (cell_2 - start) / LOCAL_STEP, old_one_2, old_two_2)
                    CARRY(1, (cell_3 - start) / LOCAL_STEP, old_one_3, old_two_3)
                }
            }
            {
                const u32 cell_4 = BYTE_TIMES(own_1.y, 0, 32 * LOCAL_STEP, (place_0 ^ 4 * LOCAL_STEP));
                const i32 old_one_4 = atomic_add_local_at(sums, cell_4, HALF_1, one);
                const i32 old_two_4 = atomic_add_local_at(sums, cell_4 + other, HALF_1, two);
                const u32 cell_5 = BYTE_TIMES(own_1.y, 1, 32 * LOCAL_STEP, (place_1 ^ 4 * LOCAL_STEP));
                const i32 old_one_5 = atomic_add_local_at(sums, cell_5, HALF_1, one);
                const i32 old_two_5 = atomic_add_local_at(sums, cell_5 + other, HALF_1, two);
                const u32 cell_6 = BYTE_TIMES(own_1.y, 2, 32 * LOCAL_STEP, (place_2 ^ 4 * LOCAL_STEP));
                const i32 old_one_6 = atomic_add_local_at(sums, cell_6, HALF_1, one);
                const i32 old_two_6 = atomic_add_local_at(sums, cell_6 + other, HALF_1, two);
                const u32 cell_7 = BYTE_TIMES(own_1.y, 3, 32 * LOCAL_STEP, (place_3 ^ 4 * LOCAL_STEP));
                const i32 old_one_7 = atomic_add_local_at(sums, cell_7, HALF_1, one);
                const i32 old_two_7 = atomic_add_local_at(sums, cell_7 + other, HALF_1, two);
                i32 wide = wide_sign;
                wide |= OVERFLOW(old_one_4, one) | OVERFLOW(old_two_4, two);
                wide |= OVERFLOW(old_one_5, one) | OVERFLOW(old_two_5, two);
                wide |= OVERFLOW(old_one_6, one) | OVERFLOW(old_two_6, two);
                wide |= OVERFLOW(old_one_7, one) | OVERFLOW(old_two_7, two);
                if (wide < 0) {
                    i32x2 high = MAKE_I32X2(0, 0);
                    if (wide_sign) high = high_words[base + row];
                    CARRY(1, (cell_4 - start) / LOCAL_STEP, old_one_4, old_two_4)
                    CARRY(1, (cell_5 - start) / LOCAL_STEP, old_one_5, old_two_5)
                    CARRY(1, (cell_6 - start) / LOCAL_STEP, old_one_6, old_two_6)
                    CARRY(1, (cell_7 - start) / LOCAL_STEP, old_one_7, old_two_7)
                }
            }
            {
                const u32 cell_8 = BYTE_TIMES(own_1.z, 0, 32 * LOCAL_STEP, (place_0 ^ 8 * LOCAL_STEP));
                const i32 old_one_8 = atomic_add_local_at(sums, cell_8, HALF_1, one);
                const i32 old_two_8 = atomic_add_local_at(sums, cell_8 + other, HALF_1, two);
                const u32 cell_9 = BYTE_TIMES(own_1.z, 1, 32 * LOCAL_STEP, (place_1 ^ 8 * LOCAL_STEP));
                const i32 old_one_9 = atomic_add_local_at(sums, cell_9, HALF_1, one);
                const i32 old_two_9 = atomic_add_local_at(sums, cell_9 + other, HALF_1, two);
                const u32 cell_10 = BYTE_TIMES(own_1.z, 2, 32 * LOCAL_STEP, (place_2 ^ 8 * LOCAL_STEP));
                const i32 old_one_10 = atomic_add_local_at(sums, cell_10, HALF_1, one);
                const i32 old_two_10 = atomic_add_local_at(sums, cell_10 + other, HALF_1, two);
                const u32 cell_11 = BYTE_TIMES(own_1.z, 3, 32 * LOCAL_STEP, (place_3 ^ 8 * LOCAL_STEP));
                const i32 old_one_11 = atomic_add_local_at(sums, cell_11, HALF_1, one);
                const i32 old_two_11 = atomic_add_local_at(sums, cell_11 + other, HALF_1, two);
                i32 wide = wide_sign;
                wide |= OVERFLOW(old_one_8, one) | OVERFLOW(old_two_8, two);
                wide |= OVERFLOW(old_one_9, one) | OVERFLOW(old_two_9, two);
                wide |= OVERFLOW(old_one_10, one) | OVERFLOW(old_two_10, two);
                wide |= OVERFLOW(old_one_11, one) | OVERFLOW(old_two_11, two);
                if (wide < 0) {
                    i32x2 high = MAKE_I32X2(0, 0);
                    if (wide_sign) high = high_words[base + row];
                    CARRY(1, (cell_8 - start) / LOCAL_STEP, old_one_8, old_two_8)
                    CARRY(1, (cell_9 - start) / LOCAL_STEP, old_one_9, old_two_9)
                    CARRY(1, (cell_10 - start) / LOCAL_STEP, old_one_10, old_two_10)
                    CARRY(1, (cell_11 - start) / LOCAL_STEP, old_one_11, old_two_11)
                }
            }
            {
                const u32 cell_12 = BYTE_TIMES(own_1.w, 0, 32 * LOCAL_STEP, (place_0 ^ 12 * LOCAL_STEP));
                const i32 old_one_12 = atomic_add_local_at(sums, cell_12, HALF_1, one);
                const i32 old_two_12 = atomic_add_local_at(sums, cell_12 + other, HALF_1, two);
                const u32 cell_13 = BYTE_TIMES(own_1.w, 1, 32 * LOCAL_STEP, (place_1 ^ 12 * LOCAL_STEP));
                const i32 old_one_13 = atomic_add_local_at(sums, cell_13, HALF_1, one);
                const i32 old_two_13 = atomic_add_local_at(sums, cell_13 + other, HALF_1, two);
                const u32 cell_14 = BYTE_TIMES(own_1.w, 2, 32 * LOCAL_STEP, (place_2 ^ 12 * LOCAL_STEP));
                const i32 old_one_14 = atomic_add_local_at(sums, cell_14, HALF_1, one);
                const i32 old_two_14 = atomic_add_local_at(sums, cell_14 + other, HALF_1, two);
                const u32 cell_15 = BYTE_TIMES(own_1.w, 3, 32 * LOCAL_STEP, (place_3 ^ 12 * LOCAL_STEP));
                const i32 old_one_15 = atomic_add_local_at(sums, cell_15, HALF_1, one);
                const i32 old_two_15 = atomic_add_local_at(sums, cell_15 + other, HALF_1, two);
                i32 wide = wide_sign;
                wide |= OVERFLOW(old_one_12, one) | OVERFLOW(old_two_12, two);
                wide |= OVERFLOW(old_one_13, one) | OVERFLOW(old_two_13, two);
                wide |= OVERFLOW(old_one_14, one) | OVERFLOW(old_two_14, two);
                wide |= OVERFLOW(old_one_15, one) | OVERFLOW(old_two_15, two);
                if (wide < 0) {
                    i32x2 high = MAKE_I32X2(0, 0);
                    if (wide_sign) high = high_words[base + row];
                    CARRY(1, (cell_12 - start) / LOCAL_STEP, old_one_12, old_two_12)
                    CARRY(1, (cell_13 - start) / LOCAL_STEP, old_one_13, old_two_13)
                    CARRY(1, (cell_14 - start) / LOCAL_STEP, old_one_14, old_two_14)
                    CARRY(1, (cell_15 - start) / LOCAL_STEP, old_one_15, old_two_15)
                }
            }
        }
        BARRIER();
        write_joint(target, sums, block_0, alone, sum_begin, sums_of);
        if (has_both) write_joint(target, sums + 4096, block_1, alone, sum_begin, sums_of);
        BARRIER();

        task = piece.last;
    }

}
