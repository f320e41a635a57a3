







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



/* A bit pattern whose sign bit is set where old + value left the range of 32 bits. */
#define OVERFLOW(old, value, sum) (((old) ^ (sum)) & ((value) ^ (sum)))

FN void add_high(GLOBAL i64* cell, const i32 high) {
    if (high) atomic_add_global_i64(cell, (i64)high << 32);
}

/* What overflowed goes to the high words of the sums, with the quanta's own high words. */
FN void carry(GLOBAL i64* target, const i32 old_g, const i32 g, const i32 high_g,
              const i32 old_h, const i32 h, const i32 high_h) {
    const i32 sum_g = (i32)((u32)old_g + (u32)g), sum_h = (i32)((u32)old_h + (u32)h);
    add_high(target, high_g + (OVERFLOW(old_g, g, sum_g) < 0 ? (g < 0 ? -1 : 1) : 0));
    add_high(target + 1, high_h + (OVERFLOW(old_h, h, sum_h) < 0 ? (h < 0 ? -1 : 1) : 0));
}

FN void clear_sums(LOCAL i32* local_g, LOCAL i32* local_h, const u32 n_cells) {
    for (u32 c = LOCAL_ID; c < n_cells; c += 256) {
        local_g[c] = 0;
        local_h[c] = 0;
    }
    if (LOCAL_ID < 32) {
        local_g[5888 + LOCAL_ID] = 0;
        local_h[5888 + LOCAL_ID] = 0;
    }
}

/* Add up the copies of each code and write the sums; alone: no other group adds to `cells`. */
FN void write_sums(GLOBAL i64* cells, const u32 n_codes, LOCAL const i32* local_g,
                   LOCAL const i32* local_h, const int alone) {
    for (u32 c = LOCAL_ID; c < n_codes; c += 256) {
        GLOBAL i64* cell = cells + 2 * c;
        i64 g = 0, h = 0;
        for (u32 i = c * 1; i < (c + 1) * 1; i++) {
            g += local_g[i];
            h += local_h[i];
        }
        if (alone) {
            cell[0] += g;
            cell[1] += h;
        } else {
            if (g) atomic_add_global_i64(&cell[0], g);
            if (h) atomic_add_global_i64(&cell[1], h);
        }
    }
}

/* One code of one row; not_fullest is 0 where it is to be left out. */
#define ADD(place, not_fullest, code)     {         const u32 c = code;         {             const int counts = (not_fullest) != 0;             const u32 cell = counts ? c * 1 + copy_minus : spare;             const i32 my_g = counts ? g : 0, my_h = counts ? h : 0;             const i32 old_g = atomic_add_local_i32(&local_g[cell], my_g);             const i32 old_h = atomic_add_local_i32(&local_h[cell], my_h);             const i32 sum_g = (i32)((u32)old_g + (u32)my_g), sum_h = (i32)((u32)old_h + (u32)my_h);             if ((OVERFLOW(old_g, my_g, sum_g) | OVERFLOW(old_h, my_h, sum_h) | (counts ? wide_sign : 0)) < 0)                 carry(&target[2 * c], old_g, my_g, high.x, old_h, my_h, high.y);         }     }



KERNEL(256) histogram(
        const u32 depth, const u32 row_stride, const u32 block_stride, const u32 paired, const u32 n_codes,
        const u32 n_rows, const u32 first_row,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL const u32* RESTRICT even_rows,
        GLOBAL const u32* RESTRICT odd_rows,
        GLOBAL const u32x4* RESTRICT codes, GLOBAL const i32x2* RESTRICT quanta,
        GLOBAL const i32x2* RESTRICT high_words, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32x4* RESTRICT place_offset, GLOBAL const u32x4* RESTRICT fullest,
        GLOBAL const u32* RESTRICT ranges, GLOBAL i64* pool, GLOBAL i64* partial) {
    LOCAL_ARRAY(i32, local_g, 5920);
    LOCAL_ARRAY(i32, local_h, 5920);
    const u32 spare = 5888 + (LOCAL_ID & 31);
    const u32 n_tasks = levels[depth].hist_tasks;
    const u32 my_first = first_task(n_tasks, GROUP_ID_Y, N_GROUPS_Y);
    const u32 my_last = first_task(n_tasks, GROUP_ID_Y + 1, N_GROUPS_Y);
    if (my_first == my_last) return;
    /* a range of codes [code_begin, code_end) and the places in a row that have them */
    const u32 place_begin = ranges[4 * GROUP_ID], place_end = ranges[4 * GROUP_ID + 1];
    const u32 code_begin = ranges[4 * GROUP_ID + 2], code_end = ranges[4 * GROUP_ID + 3];
    const u32 copy_minus = (LOCAL_ID & 0) - 1 * code_begin;
    const u32 block = place_begin / 16;
    const u32x4 block_fullest = fullest[block];
    const u32x4 offset_0 = place_offset[block * 4 + 0];
    const u32x4 offset_1 = place_offset[block * 4 + 1];
    const u32x4 offset_2 = place_offset[block * 4 + 2];
    const u32x4 offset_3 = place_offset[block * 4 + 3];


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
        for (u32 c = 2 * code_begin + LOCAL_ID; c < clear_end; c += 256) target[c] = 0;
        clear_sums(local_g, local_h, (code_end - code_begin) * 1);
        BARRIER();
        for (u32 position = piece.begin + LOCAL_ID; position < piece.end; position += 256) {
            const u32 row = piece.in_order ? position - piece.base : rows[position];
            const i32x2 low = quanta[piece.base + row];
            i32x2 high = MAKE_I32X2(0, 0);
            if (wide_sign) high = high_words[piece.base + row];
            const i32 g = low.x, h = low.y;
            GLOBAL const u32x4* row_codes = codes + (u64)(row - first_row) * row_stride;


            const u32x4 packed = row_codes[block_at(block, block_stride, paired, 1)];
            const u32x4 differs = MAKE_U32X4(
                packed.x ^ block_fullest.x, packed.y ^ block_fullest.y,
                packed.z ^ block_fullest.z, packed.w ^ block_fullest.w);
            {
                const u32x4 offset = offset_0;

                ADD(block * 16 + 0, (differs.x >> 0) & 255,
                    offset.x + ((packed.x >> 0) & 255))

                ADD(block * 16 + 1, (differs.x >> 8) & 255,
                    offset.y + ((packed.x >> 8) & 255))

                ADD(block * 16 + 2, (differs.x >> 16) & 255,
                    offset.z + ((packed.x >> 16) & 255))

                ADD(block * 16 + 3, (differs.x >> 24) & 255,
                    offset.w + ((packed.x >> 24) & 255))
            }
            {
                const u32x4 offset = offset_1;

                ADD(block * 16 + 4, (differs.y >> 0) & 255,
                    offset.x + ((packed.y >> 0) & 255))

                ADD(block * 16 + 5, (differs.y >> 8) & 255,
                    offset.y + ((packed.y >> 8) & 255))

                ADD(block * 16 + 6, (differs.y >> 16) & 255,
                    offset.z + ((packed.y >> 16) & 255))

                ADD(block * 16 + 7, (differs.y >> 24) & 255,
                    offset.w + ((packed.y >> 24) & 255))
            }
            {
                const u32x4 offset = offset_2;

                ADD(block * 16 + 8, (differs.z >> 0) & 255,
                    offset.x + ((packed.z >> 0) & 255))

                ADD(block * 16 + 9, (differs.z >> 8) & 255,
                    offset.y + ((packed.z >> 8) & 255))

                ADD(block * 16 + 10, (differs.z >> 16) & 255,
                    offset.z + ((packed.z >> 16) & 255))

                ADD(block * 16 + 11, (differs.z >> 24) & 255,
                    offset.w + ((packed.z >> 24) & 255))
            }
            {
                const u32x4 offset = offset_3;

                ADD(block * 16 + 12, (differs.w >> 0) & 255,
                    offset.x + ((packed.w >> 0) & 255))

                ADD(block * 16 + 13, (differs.w >> 8) & 255,
                    offset.y + ((packed.w >> 8) & 255))

                ADD(block * 16 + 14, (differs.w >> 16) & 255,
                    offset.z + ((packed.w >> 16) & 255))

                ADD(block * 16 + 15, (differs.w >> 24) & 255,
                    offset.w + ((packed.w >> 24) & 255))
            }

        }
        BARRIER();
        write_sums(target + 2 * code_begin, code_end - code_begin, local_g, local_h, alone);
        BARRIER();

        task = piece.last;
    }

}
