












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
    piece.begin = node->begin + (task - piece.node_first) * 64;
    piece.end = node->begin + (piece.last - piece.node_first) * 64;
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

/* What overflowed goes to the high words of the sums. */
FN void carry(GLOBAL i64* cell, const i32 old, const i32 value, const i32 high) {
    const i32 all = carried(old, value, high);
    if (all) atomic_add_global_i64(cell, (i64)all << 32);
}

#define CARRY(number, cell, old_one, old_two)     if ((cell) % 8 < block_##number.n_places) {         GLOBAL i64* to = target + 2 * (block_##number.offset[(cell) % 8] + (cell) / 32);         carry(to + (swapped ? 1 : 0), old_one, one, swapped ? high.y : high.x);         carry(to + (swapped ? 0 : 1), old_two, two, swapped ? high.x : high.y);     }

#define TURNED(word) ((u32)((((u64)(word) << 32) | (word)) >> shift))

/* Put the code of the work-item's first feature first: swap words, and turn each of them. */
FN u32x4 turn(u32x4 b, const u32 lane) {
    const u32 word = lane / 2;
    if (word & 2) b = MAKE_U32X4(b.z, b.w, b.x, b.y);
    if (word & 1) b = MAKE_U32X4(b.y, b.x, b.w, b.z);
    const u32 shift = lane % 2 * 16;
    return MAKE_U32X4(TURNED(b.x), TURNED(b.y), TURNED(b.z), TURNED(b.w));
}

/* A block's features and codes, as `ranges` has them. */
typedef struct { GLOBAL const u32* offset; u32 first, n_places, code_begin, code_end; } block_t;

FN block_t block_of(GLOBAL const u32* ranges, GLOBAL const u32* place_offset) {
    block_t block;
    block.first = ranges[0] / 8;
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
    for (u32 c = LOCAL_ID; c < codes * 32; c += 64) {
        const i32 first = c & 16 ? FIRST_HESSIAN : 0;
        sums[c + 0] = first;
    }
}

/* Write the sums of a block's features; alone: no other group adds to them. A work-item has a feature's
   gradients or Hessians, so that neighbours write both sums of four codes, and read four banks. */
FN void write_sums(GLOBAL i64* target, LOCAL const i32* sums, const block_t block, const int alone) {
    for (u32 unit = LOCAL_ID; unit < 64; unit += 64) {
        const u32 part = unit & 1, place = unit >> 3 & 7;
        const i64 begun = part ? (i64)2 * FIRST_HESSIAN : 0;
        const u32 begin = place < block.n_places ? block.offset[place] : 0;
        const u32 end = place >= block.n_places ? 0
            : place + 1 < block.n_places ? block.offset[place + 1] : block.code_end;
        const u32 first = unit / 64 * 4 + (unit >> 1 & 3);
        for (u32 code = first; code < end - begin; code += 4) {
            i64 sum = sums[code * 32 + part * 16 + place];
            sum += sums[code * 32 + part * 16 + place + 8];
            sum -= begun;
            GLOBAL i64* to = &target[2 * (begin + code) + part];
            if (alone) *to += sum;
            else if (sum) atomic_add_global_i64(to, sum);
        }
    }
}

/* From the sums of a pair's first block to those of its second one. */
#define HALF_0 0
#define HALF_1 (1024 * LOCAL_STEP)

/* The row at a place of a piece; behind its end it is the last one. */
#define ROW_AT(at) row_at(rows, (at) < piece.end ? (at) : piece.end - 1, base, piece.in_order)
FN u32 row_at(GLOBAL const u32* rows, const u32 at, const u32 base, const u32 in_order) {
    return in_order ? at - base : rows[at];
}
#define CODES_OF(row) ((u64)((row) - first_row) * row_stride + own_block)

/* two groups of 512 have the registers of a multiprocessor; with more for each, only one would run */
#undef GROUPS_OF_A_UNIT
#define GROUPS_OF_A_UNIT 16
KERNEL(64) histogram(
        const u32 depth, const u32 row_stride, const u32 block_stride, const u32 paired, const u32 n_codes,
        const u32 n_ranges, const u32 n_rows, const u32 first_row,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL const u32* RESTRICT even_rows,
        GLOBAL const u32* RESTRICT odd_rows,
        GLOBAL const u32x4* RESTRICT codes, GLOBAL const i32x2* RESTRICT quanta,
        GLOBAL const i32x2* RESTRICT high_words, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT place_offset, GLOBAL const u32x4* RESTRICT fullest,
        GLOBAL const u32* RESTRICT ranges, GLOBAL i64* pool, GLOBAL i64* partial) {
    LOCAL_LINES(i32, sums, 1024);
    (void)fullest;
    (void)partial;
    const u32 n_tasks = levels[depth].hist_tasks;
    const u32 my_first = first_task(n_tasks, GROUP_ID_Y, N_GROUPS_Y);
    const u32 my_last = first_task(n_tasks, GROUP_ID_Y + 1, N_GROUPS_Y);
    if (my_first == my_last) return;
    const block_t block_0 = block_of(ranges + 4 * GROUP_ID, place_offset);
    const u64 own_block = block_at(block_0.first, block_stride, paired, 1);
    const u32 most = most_codes(block_0);
    (void)n_ranges;
    const u32 code_begin = block_0.code_begin, code_end = block_0.code_end;
    const u32 swapped = LOCAL_ID & 16; /* adds Hessians first */
    /* from the place of a feature's one sum to that of the other */
    const i32 other = KEPT(swapped ? -16 * LOCAL_STEP : 16 * LOCAL_STEP);
    const u32 start = KEPT(LOCAL_START(sums)), lane = KEPT(LOCAL_ID % 32);
    const u32 bank_0 = LOCAL_ID % 32 / 2 * 2 + (LOCAL_ID + 0) % 2;
    const u32 place_0 = KEPT(start + bank_0 * LOCAL_STEP);
    const u32 bank_1 = LOCAL_ID % 32 / 2 * 2 + (LOCAL_ID + 1) % 2;
    const u32 place_1 = KEPT(start + bank_1 * LOCAL_STEP);


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
        const u32 clear_end = clears ? 2 * code_end : 2 * code_begin;
        for (u32 c = 2 * code_begin + LOCAL_ID; c < clear_end; c += 64) target[c] = 0;
        clear_sums(sums, most);
        BARRIER();
        const u32 base = KEPT(piece.base);
        for (u32 position = piece.begin + LOCAL_ID; position < piece.end; position += 64) {
            const u32 row = row_at(rows, position, base, piece.in_order);
            const i32x2 low = quanta[base + row];
            const u32x4 front = codes[CODES_OF(row)];
            const i32 one = swapped ? low.y : low.x, two = swapped ? low.x : low.y;
            const u32x4 own_0 = turn(front, lane);

            {
                const u32 cell_0 = (own_0.x >> 0 & 65535) * (32 * LOCAL_STEP) + (place_0 ^ 0 * LOCAL_STEP);
                const i32 old_one_0 = atomic_add_local_at(sums, cell_0, HALF_0, one);
                const i32 old_two_0 = atomic_add_local_at(sums, cell_0 + other, HALF_0, two);
                const u32 cell_1 = (own_0.x >> 16 & 65535) * (32 * LOCAL_STEP) + (place_1 ^ 0 * LOCAL_STEP);
                const i32 old_one_1 = atomic_add_local_at(sums, cell_1, HALF_0, one);
                const i32 old_two_1 = atomic_add_local_at(sums, cell_1 + other, HALF_0, two);
                const u32 cell_2 = (own_0.y >> 0 & 65535) * (32 * LOCAL_STEP) + (place_0 ^ 2 * LOCAL_STEP);
                const i32 old_one_2 = atomic_add_local_at(sums, cell_2, HALF_0, one);
                const i32 old_two_2 = atomic_add_local_at(sums, cell_2 + other, HALF_0, two);
                const u32 cell_3 = (own_0.y >> 16 & 65535) * (32 * LOCAL_STEP) + (place_1 ^ 2 * LOCAL_STEP);
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
                const u32 cell_4 = (own_0.z >> 0 & 65535) * (32 * LOCAL_STEP) + (place_0 ^ 4 * LOCAL_STEP);
                const i32 old_one_4 = atomic_add_local_at(sums, cell_4, HALF_0, one);
                const i32 old_two_4 = atomic_add_local_at(sums, cell_4 + other, HALF_0, two);
                const u32 cell_5 = (own_0.z >> 16 & 65535) * (32 * LOCAL_STEP) + (place_1 ^ 4 * LOCAL_STEP);
                const i32 old_one_5 = atomic_add_local_at(sums, cell_5, HALF_0, one);
                const i32 old_two_5 = atomic_add_local_at(sums, cell_5 + other, HALF_0, two);
                const u32 cell_6 = (own_0.w >> 0 & 65535) * (32 * LOCAL_STEP) + (place_0 ^ 6 * LOCAL_STEP);
                const i32 old_one_6 = atomic_add_local_at(sums, cell_6, HALF_0, one);
                const i32 old_two_6 = atomic_add_local_at(sums, cell_6 + other, HALF_0, two);
                const u32 cell_7 = (own_0.w >> 16 & 65535) * (32 * LOCAL_STEP) + (place_1 ^ 6 * LOCAL_STEP);
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
        }
        BARRIER();
        write_sums(target, sums, block_0, alone);
        
        BARRIER();

        task = piece.last;
    }

}
