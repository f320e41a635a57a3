
#undef BARRIER
#define BARRIER() ((void)0)











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

/* A row's gradient and Hessian, with their high words if the tree has some. */
FN i64x2 pair_of(GLOBAL const i32x2* quanta, GLOBAL const i32x2* high_words, const u32 at, const u32 wide) {
    const i32x2 low = quanta[at];
    const i64x2 pair = MAKE_I64X2(low.x, low.y);
    if (!wide) return pair;
    const i32x2 high = high_words[at];
    return ADD_I64X2(pair, MAKE_I64X2((i64)high.x << 32, (i64)high.y << 32));
}

/* Add a row's gradient and Hessian to the code of each of its features. */
FN void add_row(GLOBAL i64x2* target, const i64x2 pair, GLOBAL const u32* offset,
                GLOBAL const u8* code, const u32 n_places) {
    u32 place = 0;
    for (; place + 4 <= n_places; place += 4) {
        const u32 some = *(GLOBAL const u32*)(code + place);
        {
            const u32 c = offset[place + 0] + (u32)(some >> 0 & 255);
            target[c] = ADD_I64X2(target[c], pair);
        }
        {
            const u32 c = offset[place + 1] + (u32)(some >> 8 & 255);
            target[c] = ADD_I64X2(target[c], pair);
        }
        {
            const u32 c = offset[place + 2] + (u32)(some >> 16 & 255);
            target[c] = ADD_I64X2(target[c], pair);
        }
        {
            const u32 c = offset[place + 3] + (u32)(some >> 24 & 255);
            target[c] = ADD_I64X2(target[c], pair);
        }
    }
    for (; place < n_places; place++) {
        const u32 c = offset[place] + code[place];
        target[c] = ADD_I64X2(target[c], pair);
    }
}


#define H_BITS 29
#define H_MASK (((i64)1 << H_BITS) - 1)
/* A row's gradient is at most 2^31; Hessians of a run carry less than 2^15. */
#define MOST_GRADIENTS (((i64)1 << (63 - H_BITS)) - ((i64)1 << 32))
#define MOST_ROWS 4096u  /* of a run */
#define LEAST_ROWS 1024u
#define STRETCH 512u     /* rows */

/* What a work-group adds rows with. */
typedef struct {
    GLOBAL const u32* rows;
    GLOBAL const i32x2* quanta;
    GLOBAL const i32x2* high_words;
    GLOBAL const u32* offset;
    GLOBAL const u8* codes;
    u64 stride;    /* codes of a row, with padding */
    u32 straddles; /* a row's codes may lie in two lines of a cache */
    u32 first_row, n_places, code_begin, code_end, wide;
} source_t;

/* Add a number to the cell of each of a row's codes. */
FN void add_to_cells(LOCAL i64* sums, const i64 number, const source_t* source, const u32 row) {
    GLOBAL const u8* code = source->codes + (row - source->first_row) * source->stride;
    const u32 n_places = source->n_places;
    u32 place = 0;
    for (; place + 4 <= n_places; place += 4) {
        sums[0 + code[0]] += number;
        sums[256 + code[1]] += number;
        sums[512 + code[2]] += number;
        sums[768 + code[3]] += number;
        sums += 1024;
        code += 4;
    }
    for (; place < n_places; place++) {
        sums[code[0]] += number;
        sums += 256;
        code++;
    }
}

/* Add a row's gradient and Hessian to the pair of each of its codes. */
FN void add_to_pairs(LOCAL i64x2* sums, const i64x2 pair, const source_t* source, const u32 row) {
    GLOBAL const u8* code = source->codes + (row - source->first_row) * source->stride;
    const u32 n_places = source->n_places;
    u32 place = 0;
    for (; place + 4 <= n_places; place += 4) {
        sums[0 + code[0]] = ADD_I64X2(sums[0 + code[0]], pair);
        sums[256 + code[1]] = ADD_I64X2(sums[256 + code[1]], pair);
        sums[512 + code[2]] = ADD_I64X2(sums[512 + code[2]], pair);
        sums[768 + code[3]] = ADD_I64X2(sums[768 + code[3]], pair);
        sums += 1024;
        code += 4;
    }
    for (; place < n_places; place++) {
        sums[code[0]] = ADD_I64X2(sums[code[0]], pair);
        sums += 256;
        code++;
    }
}

/* Add the cells to the pool's sums, and clear them. Returns the Hessians in their lower bits. */
FN i64 move_cells(LOCAL i64* cells, GLOBAL i64* target, const source_t* source) {
    const u32 n_codes = source->code_end - source->code_begin;
    i64 sum_h = 0;
    for (u32 place = 0; place < source->n_places; place++) {
        const u32 first = source->offset[place] - source->code_begin;
        const u32 end = place + 1 < source->n_places ? source->offset[place + 1] - source->code_begin : n_codes;
        const u32 gap = 256 * place - first;
        LOCAL i64* own = cells + gap;
        for (u32 c = first; c < end; c++) {
            const i64 cell = own[c], h = cell & H_MASK;
            sum_h += h;
            target[2 * c] += cell >> H_BITS;
            target[2 * c + 1] += h;
            own[c] = 0;
        }
    }
    return sum_h;
}

/* Add what Hessians carried to the gradients above them: cells have sums of Hessians alone. */
FN void move_carries(LOCAL i64* cells, GLOBAL i64* target, const source_t* source) {
    const u32 n_codes = source->code_end - source->code_begin;
    for (u32 place = 0; place < source->n_places; place++) {
        const u32 first = source->offset[place] - source->code_begin;
        const u32 end = place + 1 < source->n_places ? source->offset[place + 1] - source->code_begin : n_codes;
        const u32 gap = 256 * place - first;
        LOCAL i64* own = cells + gap;
        for (u32 c = first; c < end; c++) {
            const i64 carry = own[c] >> H_BITS;
            target[2 * c] -= carry;
            target[2 * c + 1] += carry << H_BITS;
            own[c] = 0;
        }
    }
}

/* Add the rows of a stretch to the cells of 14 places. */
FN void add_tile_14(LOCAL i64* cells, const i64* numbers, GLOBAL const u8* code, const u64 stride, const u32 n) {
    for (u32 i = 0; i < n; i++, code += stride) {
        const i64 number = numbers[i]; PREFETCH_FAR(code + STRETCH * stride); /* of the next stretch */
        cells[0 + code[0]] += number;
        cells[256 + code[1]] += number;
        cells[512 + code[2]] += number;
        cells[768 + code[3]] += number;
        cells[1024 + code[4]] += number;
        cells[1280 + code[5]] += number;
        cells[1536 + code[6]] += number;
        cells[1792 + code[7]] += number;
        cells[2048 + code[8]] += number;
        cells[2304 + code[9]] += number;
        cells[2560 + code[10]] += number;
        cells[2816 + code[11]] += number;
        cells[3072 + code[12]] += number;
        cells[3328 + code[13]] += number;
    }
}

/* Add the rows of a stretch to the cells of 8 places. */
FN void add_tile_8(LOCAL i64* cells, const i64* numbers, GLOBAL const u8* code, const u64 stride, const u32 n) {
    for (u32 i = 0; i < n; i++, code += stride) {
        const i64 number = numbers[i];
        cells[0 + code[0]] += number;
        cells[256 + code[1]] += number;
        cells[512 + code[2]] += number;
        cells[768 + code[3]] += number;
        cells[1024 + code[4]] += number;
        cells[1280 + code[5]] += number;
        cells[1536 + code[6]] += number;
        cells[1792 + code[7]] += number;
    }
}

/* Add the rows of a stretch to the cells of 4 places. */
FN void add_tile_4(LOCAL i64* cells, const i64* numbers, GLOBAL const u8* code, const u64 stride, const u32 n) {
    for (u32 i = 0; i < n; i++, code += stride) {
        const i64 number = numbers[i];
        cells[0 + code[0]] += number;
        cells[256 + code[1]] += number;
        cells[512 + code[2]] += number;
        cells[768 + code[3]] += number;
    }
}

/* Add the rows of a stretch to the cells of a place. */
FN void add_tile_1(LOCAL i64* cells, const i64* numbers, GLOBAL const u8* code, const u64 stride, const u32 n) {
    for (u32 i = 0; i < n; i++, code += stride) {
        const i64 number = numbers[i];
        cells[0 + code[0]] += number;
    }
}

/* Add a stretch of rows in order to the cells of all places, tile after tile. */
FN void add_stretch(LOCAL i64* cells, const i64* numbers, const source_t* source, const u32 row, const u32 n) {
    GLOBAL const u8* code = source->codes + (row - source->first_row) * source->stride;
    u32 place = 0;
    for (; place + 14 <= source->n_places; place += 14)
        add_tile_14(cells + 256 * place, numbers, code + place, source->stride, n);
    for (; place + 8 <= source->n_places; place += 8)
        add_tile_8(cells + 256 * place, numbers, code + place, source->stride, n);
    for (; place + 4 <= source->n_places; place += 4)
        add_tile_4(cells + 256 * place, numbers, code + place, source->stride, n);
    for (; place + 1 <= source->n_places; place += 1)
        add_tile_1(cells + 256 * place, numbers, code + place, source->stride, n);
}

/* Add a run of rows in order. Returns the first behind it; halves `most_rows` if a cell overflowed. */
FN u32 add_run(LOCAL i64* cells, GLOBAL i64* target, const piece_t piece, const u32 begin,
               const source_t* source, u32* most_rows) {
    const u32 most = piece.end - begin < *most_rows ? piece.end : begin + *most_rows;
    i64 sum_g = 0, sum_h = 0; /* of gradients without their signs, and of Hessians */
    i32 signs = 0; /* negative if a Hessian is: only the primitive's are */
    i64 numbers[STRETCH];
    u32 at = begin;
    while (at < most && sum_g < MOST_GRADIENTS) {
        const u32 some = most - at < STRETCH ? most - at : STRETCH;
        GLOBAL const i32x2* own = source->quanta + at;
        u32 n = 0;
        for (; n < some && sum_g < MOST_GRADIENTS; n++) {
            const i32x2 quanta = own[n];
            sum_g += quanta.x < 0 ? -(i64)quanta.x : quanta.x;
            sum_h += quanta.y;
            signs |= quanta.y;
            numbers[n] = ((i64)quanta.x << H_BITS) + quanta.y;
        }
        add_stretch(cells, numbers, source, at - piece.base, n);
        at += n;
    }
    const u32 run_end = at;
    const i64 moved = move_cells(cells, target, source);
    if (signs >= 0 && moved == sum_h * source->n_places) return run_end;
    for (at = begin; at < run_end; at++) add_to_cells(cells, source->quanta[at].y, source, at - piece.base);
    move_carries(cells, target, source);
    *most_rows /= 2;
    return run_end;
}

#define LISTED 1024u

/* Add a batch to 7 places; ask for n_next rows of the next one, at most as many. */
FN void add_listed_7(LOCAL i64x2* sums, const i32x2* own, const u8* code, const u32 n, const source_t* source,
                       GLOBAL const i32x2* quanta, GLOBAL const u32* next, const u32 n_next) {
    u32 i = 0;
    for (; i < n_next; i++, code += 32) {
        PREFETCH_FAR(source->codes + (next[i] - source->first_row) * source->stride);
        PREFETCH_FAR(quanta + next[i]);
        const i64x2 pair = MAKE_I64X2(own[i].x, own[i].y);
        sums[0 + code[0]] = ADD_I64X2(sums[0 + code[0]], pair);
        sums[256 + code[1]] = ADD_I64X2(sums[256 + code[1]], pair);
        sums[512 + code[2]] = ADD_I64X2(sums[512 + code[2]], pair);
        sums[768 + code[3]] = ADD_I64X2(sums[768 + code[3]], pair);
        sums[1024 + code[4]] = ADD_I64X2(sums[1024 + code[4]], pair);
        sums[1280 + code[5]] = ADD_I64X2(sums[1280 + code[5]], pair);
        sums[1536 + code[6]] = ADD_I64X2(sums[1536 + code[6]], pair);
    }
    for (; i < n; i++, code += 32) {
        const i64x2 pair = MAKE_I64X2(own[i].x, own[i].y);
        sums[0 + code[0]] = ADD_I64X2(sums[0 + code[0]], pair);
        sums[256 + code[1]] = ADD_I64X2(sums[256 + code[1]], pair);
        sums[512 + code[2]] = ADD_I64X2(sums[512 + code[2]], pair);
        sums[768 + code[3]] = ADD_I64X2(sums[768 + code[3]], pair);
        sums[1024 + code[4]] = ADD_I64X2(sums[1024 + code[4]], pair);
        sums[1280 + code[5]] = ADD_I64X2(sums[1280 + code[5]], pair);
        sums[1536 + code[6]] = ADD_I64X2(sums[1536 + code[6]], pair);
    }
}

/* Add a batch to 4 places; ask for n_next rows of the next one, at most as many. */
FN void add_listed_4(LOCAL i64x2* sums, const i32x2* own, const u8* code, const u32 n, const source_t* source,
                       GLOBAL const i32x2* quanta, GLOBAL const u32* next, const u32 n_next) {
    u32 i = 0;
    for (; i < n_next; i++, code += 32) {
        PREFETCH_FAR(source->codes + (next[i] - source->first_row) * source->stride);
        PREFETCH_FAR(quanta + next[i]);
        const i64x2 pair = MAKE_I64X2(own[i].x, own[i].y);
        sums[0 + code[0]] = ADD_I64X2(sums[0 + code[0]], pair);
        sums[256 + code[1]] = ADD_I64X2(sums[256 + code[1]], pair);
        sums[512 + code[2]] = ADD_I64X2(sums[512 + code[2]], pair);
        sums[768 + code[3]] = ADD_I64X2(sums[768 + code[3]], pair);
    }
    for (; i < n; i++, code += 32) {
        const i64x2 pair = MAKE_I64X2(own[i].x, own[i].y);
        sums[0 + code[0]] = ADD_I64X2(sums[0 + code[0]], pair);
        sums[256 + code[1]] = ADD_I64X2(sums[256 + code[1]], pair);
        sums[512 + code[2]] = ADD_I64X2(sums[512 + code[2]], pair);
        sums[768 + code[3]] = ADD_I64X2(sums[768 + code[3]], pair);
    }
}

/* Add a batch to a place; ask for n_next rows of the next one, at most as many. */
FN void add_listed_1(LOCAL i64x2* sums, const i32x2* own, const u8* code, const u32 n, const source_t* source,
                       GLOBAL const i32x2* quanta, GLOBAL const u32* next, const u32 n_next) {
    u32 i = 0;
    for (; i < n_next; i++, code += 32) {
        PREFETCH_FAR(source->codes + (next[i] - source->first_row) * source->stride);
        PREFETCH_FAR(quanta + next[i]);
        const i64x2 pair = MAKE_I64X2(own[i].x, own[i].y);
        sums[0 + code[0]] = ADD_I64X2(sums[0 + code[0]], pair);
    }
    for (; i < n; i++, code += 32) {
        const i64x2 pair = MAKE_I64X2(own[i].x, own[i].y);
        sums[0 + code[0]] = ADD_I64X2(sums[0 + code[0]], pair);
    }
}

/* Add a piece's listed rows from `begin` on; none of them is wide. Returns the row behind them. */
FN u32 add_listed_pairs(LOCAL i64x2* sums, const piece_t piece, const u32 begin, const source_t* source) {
    i32x2 own[LISTED];
    u32x4 codes[2 * LISTED]; /* at most 32 of a row */
    GLOBAL const i32x2* quanta = source->quanta + piece.base;
    const u32 first_row = source->first_row, second = source->n_places > 16;
    for (u32 at = begin; at < piece.end; at += LISTED) {
        GLOBAL const u32* rows = source->rows + at;
        const u32 left = piece.end - at, n = left < LISTED ? left : LISTED;
        for (u32 i = 0; i < n; i++) {
            if (at == begin && i + 24 < n) { /* nobody has asked for the first batch */
                PREFETCH_FAR(source->codes + (rows[i + 24] - first_row) * source->stride);
                PREFETCH_FAR(quanta + rows[i + 24]);
            }
            GLOBAL const u8* code = source->codes + (rows[i] - first_row) * source->stride;
            codes[2 * i] = *(GLOBAL const u32x4*)code;
            if (second) codes[2 * i + 1] = *(GLOBAL const u32x4*)(code + 16);
            own[i] = quanta[rows[i]];
        }
        const u8* code = (const u8*)codes;
        u32 n_next = left - n < n ? left - n : n, place = 0;
        for (; place + 7 <= source->n_places; place += 7, n_next = 0)
            add_listed_7(sums + 256 * place, own, code + place, n, source, quanta, rows + n, n_next);
        for (; place + 4 <= source->n_places; place += 4, n_next = 0)
            add_listed_4(sums + 256 * place, own, code + place, n, source, quanta, rows + n, n_next);
        for (; place + 1 <= source->n_places; place += 1, n_next = 0)
            add_listed_1(sums + 256 * place, own, code + place, n, source, quanta, rows + n, n_next);
    }
    return piece.end;
}

/* Add a piece's rows from `begin` on, whatever their sums. */
FN void add_plain(LOCAL i64x2* pairs, GLOBAL i64x2* target, const piece_t piece, const u32 begin,
                  const source_t* source) {
    const u32 n_codes = source->code_end - source->code_begin;
    u32 at = begin;
    if (!source->wide && !piece.in_order) at = add_listed_pairs(pairs, piece, begin, source);
    for (; at < piece.end; at++) {
        const u32 row = piece.in_order ? at - piece.base : source->rows[at];
        if (!piece.in_order && at + 24 < piece.end) {
            const u32 later = source->rows[at + 24];
            PREFETCH_FAR(source->codes + (later - source->first_row) * source->stride);
            if (source->straddles)
                PREFETCH_FAR(source->codes + (later - source->first_row) * source->stride + source->n_places - 1);
            PREFETCH_FAR(source->quanta + piece.base + later);
        }
        const i64x2 pair = pair_of(source->quanta, source->high_words, piece.base + row, source->wide);
        add_to_pairs(pairs, pair, source, row);
    }
    for (u32 place = 0; place < source->n_places; place++) {
        const u32 first = source->offset[place] - source->code_begin;
        const u32 end = place + 1 < source->n_places ? source->offset[place + 1] - source->code_begin : n_codes;
        const u32 gap = 256 * place - first;
        LOCAL i64x2* own = pairs + gap;
        for (u32 c = first; c < end; c++) {
            target[c] = ADD_I64X2(target[c], own[c]);
            own[c] = MAKE_I64X2(0, 0);
        }
    }
}

/* Add a piece's rows, but for few; those of a root, which are in order, to cells. Returns the first that is left. */
FN u32 add_piece(LOCAL i64x2* pairs, GLOBAL i64x2* target, const piece_t piece, const source_t* source,
                 u32* most_rows) {
    /* nodes below the root have many rows of one code, so that sums overflow. PoCL, 1 M x 28, processor ms a
       round where nodes of a sixteenth of the rows pack and where roots alone do: depth 8 172 and 157, 201 and 189; 6 122 and 113, 135, 135 */
    const u32 packs = !source->wide && piece.in_order;
    const u32 n_codes = source->code_end - source->code_begin;
    u32 first = piece.begin;
    while (packs && *most_rows >= LEAST_ROWS && piece.end - first >= n_codes / 4)
        first = add_run((LOCAL i64*)pairs, (GLOBAL i64*)target, piece, first, source, most_rows);
    if (piece.end - first < n_codes / 16) return first;
    add_plain(pairs, target, piece, first, source);
    return piece.end;
}

#define BATCH 1024u
#define MOST_IN_WINDOW 16384u
#define LEAST_WINDOW 4096u
#define LEAST_IN_WINDOW 5000u /* rows of a node */
#define NO_WINDOW 1u

/* Whether no window of so many rows has a code more than 127 times; `counts` are 0, and stay so. */
FN u32 fits_words(const source_t* source, const u32 n_rows, const u32 window, LOCAL u32* counts) {
    const u32 n_counts = 256 * source->n_places;
    GLOBAL const u8* code = source->codes;
    u32 most = 0;
    for (u32 begin = 0; begin < n_rows && most <= 127; begin += window) {
        const u32 end = n_rows - begin < window ? n_rows : begin + window;
        for (u32 row = begin; row < end; row++, code += source->stride)
            for (u32 place = 0; place < source->n_places; place++) counts[256 * place + code[place]]++;
        for (u32 c = 0; c < n_counts; c++) {
            most = counts[c] > most ? counts[c] : most;
            counts[c] = 0;
        }
    }
    return most <= 127;
}

/* Rows of a window, or 0 if a node's rows are not added by words. Who asks first finds out; who asks at the same
   time finds the same. */
FN u32 window_of(const source_t* source, const u32 n_rows, const u32 n_node, LOCAL u32* counts, GLOBAL u32* own) {
    if (n_node < LEAST_IN_WINDOW) return 0;
    u32 window = *own;
    if (window == 0) {
        for (window = MOST_IN_WINDOW; window >= LEAST_WINDOW && !fits_words(source, n_rows, window, counts);) window /= 2;
        if (window < LEAST_WINDOW) window = NO_WINDOW;
        *own = window;
    }
    const u32 rows = window < n_rows ? window : n_rows;
    return window > NO_WINDOW && (u64)n_node * rows >= (u64)LEAST_IN_WINDOW * n_rows ? window : 0;
}

/* The word of a row; 0 if its quanta are many, and were added to the pool. */
FN i64 word_of(const i32x2 quanta, GLOBAL i64x2* pool, const source_t* source, GLOBAL const u8* code) {
    if ((u32)(quanta.x + 0xffffff) <= 0x1fffffeu && (u32)quanta.y <= 0x1ffffffu)
        return ((i64)quanta.x << 32) + quanta.y;
    add_row(pool, MAKE_I64X2(quanta.x, quanta.y), source->offset, code, source->n_places);
    return 0;
}

/* Write the words of rows in order; returns whether none has many quanta. */
FN u32 all_words(i64* numbers, GLOBAL const i32x2* quanta, const u32 n) {
    u32 many = 0;
    for (u32 i = 0; i < n; i++) { /* no branch, so it is vectorised */
        const i32x2 own = quanta[i];
        many |= (u32)((u32)(own.x + 0xffffff) > 0x1fffffeu) | (u32)((u32)own.y > 0x1ffffffu);
        numbers[i] = ((i64)own.x << 32) + own.y;
    }
    return !many;
}

/* Add words to the pool's sums, and clear them. */
FN void move_words(LOCAL i64* words, GLOBAL i64* target, const source_t* source) {
    const u32 n_codes = source->code_end - source->code_begin;
    for (u32 place = 0; place < source->n_places; place++) {
        const u32 first = source->offset[place] - source->code_begin;
        const u32 end = place + 1 < source->n_places ? source->offset[place + 1] - source->code_begin : n_codes;
        LOCAL i64* own = words + (256 * place - first);
        for (u32 c = first; c < end; c++) {
            target[2 * c] += own[c] >> 32;
            target[2 * c + 1] += own[c] & 0xffffffff;
            own[c] = 0;
        }
    }
}

/* Add a batch to 14 places; ask for n_next rows of the next one, at most as many. */
FN void add_batch_14(LOCAL i64* words, const i64* numbers, const u8* code, const u32 n, const source_t* source,
                      GLOBAL const i32x2* quanta, GLOBAL const u32* next, const u32 n_next) {
    u32 i = 0;
    for (; i < n_next; i++, code += 32) {
        PREFETCH_FAR(source->codes + (next[i] - source->first_row) * source->stride);
        PREFETCH_FAR(quanta + next[i]);
        const i64 number = numbers[i];
        words[0 + code[0]] += number;
        words[256 + code[1]] += number;
        words[512 + code[2]] += number;
        words[768 + code[3]] += number;
        words[1024 + code[4]] += number;
        words[1280 + code[5]] += number;
        words[1536 + code[6]] += number;
        words[1792 + code[7]] += number;
        words[2048 + code[8]] += number;
        words[2304 + code[9]] += number;
        words[2560 + code[10]] += number;
        words[2816 + code[11]] += number;
        words[3072 + code[12]] += number;
        words[3328 + code[13]] += number;
    }
    for (; i < n; i++, code += 32) {
        const i64 number = numbers[i];
        words[0 + code[0]] += number;
        words[256 + code[1]] += number;
        words[512 + code[2]] += number;
        words[768 + code[3]] += number;
        words[1024 + code[4]] += number;
        words[1280 + code[5]] += number;
        words[1536 + code[6]] += number;
        words[1792 + code[7]] += number;
        words[2048 + code[8]] += number;
        words[2304 + code[9]] += number;
        words[2560 + code[10]] += number;
        words[2816 + code[11]] += number;
        words[3072 + code[12]] += number;
        words[3328 + code[13]] += number;
    }
}

/* Add a batch to 4 places; ask for n_next rows of the next one, at most as many. */
FN void add_batch_4(LOCAL i64* words, const i64* numbers, const u8* code, const u32 n, const source_t* source,
                      GLOBAL const i32x2* quanta, GLOBAL const u32* next, const u32 n_next) {
    u32 i = 0;
    for (; i < n_next; i++, code += 32) {
        PREFETCH_FAR(source->codes + (next[i] - source->first_row) * source->stride);
        PREFETCH_FAR(quanta + next[i]);
        const i64 number = numbers[i];
        words[0 + code[0]] += number;
        words[256 + code[1]] += number;
        words[512 + code[2]] += number;
        words[768 + code[3]] += number;
    }
    for (; i < n; i++, code += 32) {
        const i64 number = numbers[i];
        words[0 + code[0]] += number;
        words[256 + code[1]] += number;
        words[512 + code[2]] += number;
        words[768 + code[3]] += number;
    }
}

/* Add a batch to a place; ask for n_next rows of the next one, at most as many. */
FN void add_batch_1(LOCAL i64* words, const i64* numbers, const u8* code, const u32 n, const source_t* source,
                      GLOBAL const i32x2* quanta, GLOBAL const u32* next, const u32 n_next) {
    u32 i = 0;
    for (; i < n_next; i++, code += 32) {
        PREFETCH_FAR(source->codes + (next[i] - source->first_row) * source->stride);
        PREFETCH_FAR(quanta + next[i]);
        const i64 number = numbers[i];
        words[0 + code[0]] += number;
    }
    for (; i < n; i++, code += 32) {
        const i64 number = numbers[i];
        words[0 + code[0]] += number;
    }
}

/* Add a piece's listed rows. */
FN void add_listed(LOCAL i64* words, GLOBAL i64x2* pool, const piece_t piece, const source_t* source, const u32 window) {
    i64 numbers[BATCH];
    u32x4 codes[2 * BATCH]; /* at most 32 of a row */
    GLOBAL const i32x2* quanta = source->quanta + piece.base;
    const u32 first_row = source->first_row, second = source->n_places > 16;
    u32 n = 0;
    for (u32 at = piece.begin; at < piece.end; at += n) {
        GLOBAL const u32* rows = source->rows + at;
        const u32 left = piece.end - at, most = left < BATCH ? left : BATCH;
        for (n = 0; n < most && ((rows[n] - first_row) ^ (rows[0] - first_row)) < window; n++) {
            GLOBAL const u8* code = source->codes + (rows[n] - first_row) * source->stride;
            codes[2 * n] = *(GLOBAL const u32x4*)code;
            if (second) codes[2 * n + 1] = *(GLOBAL const u32x4*)(code + 16);
            numbers[n] = word_of(quanta[rows[n]], pool, source, code);
        }
        const u8* code = (const u8*)codes;
        u32 n_next = left - n < n ? left - n : n, place = 0;
        for (; place + 14 <= source->n_places; place += 14, n_next = 0)
            add_batch_14(words + 256 * place, numbers, code + place, n, source, quanta, rows + n, n_next);
        for (; place + 4 <= source->n_places; place += 4, n_next = 0)
            add_batch_4(words + 256 * place, numbers, code + place, n, source, quanta, rows + n, n_next);
        for (; place + 1 <= source->n_places; place += 1, n_next = 0)
            add_batch_1(words + 256 * place, numbers, code + place, n, source, quanta, rows + n, n_next);
        if (n == left || ((rows[n] - first_row) ^ (rows[0] - first_row)) >= window)
            move_words(words, (GLOBAL i64*)(pool + source->code_begin), source);
    }
}

/* Add a piece's rows in order. */
FN void add_in_order(LOCAL i64* words, GLOBAL i64x2* pool, const piece_t piece, const source_t* source, const u32 window) {
    i64 numbers[STRETCH];
    u32 n = 0;
    for (u32 at = piece.begin; at < piece.end; at += n) {
        const u32 row = at - piece.base, place = (row - source->first_row) % window; /* in its window */
        const u32 left = piece.end - at < window - place ? piece.end - at : window - place;
        GLOBAL const u8* code = source->codes + (row - source->first_row) * source->stride;
        n = left < STRETCH ? left : STRETCH;
        if (!all_words(numbers, source->quanta + at, n))
            for (u32 i = 0; i < n; i++, code += source->stride)
                numbers[i] = word_of(source->quanta[at + i], pool, source, code);
        add_stretch(words, numbers, source, row, n);
        if (n == left) move_words(words, (GLOBAL i64*)(pool + source->code_begin), source);
    }
}

/* Add a piece's rows by words, if its node has many. Returns the first that is left: the piece's first, or none. */
FN u32 add_windows(LOCAL i64* words, GLOBAL i64x2* pool, const piece_t piece, const source_t* source,
                   const u32 n_rows, const u32 n_node, GLOBAL u32* own) {
    const u32 window = source->wide ? 0 : window_of(source, n_rows, n_node, (LOCAL u32*)words, own);
    if (!window) return piece.begin;
    if (piece.in_order) add_in_order(words, pool, piece, source, window);
    else add_listed(words, pool, piece, source, window);
    return piece.end;
}

KERNEL(1) histogram(
        const u32 depth, const u32 row_stride, const u32 block_stride, const u32 paired, const u32 n_codes,
        GLOBAL u32* windows, const u32 n_rows, const u32 first_row,
        GLOBAL const level_t* RESTRICT levels, GLOBAL const node_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT task_begin, GLOBAL const u32* RESTRICT even_rows,
        GLOBAL const u32* RESTRICT odd_rows,
        GLOBAL const u32x4* RESTRICT codes, GLOBAL const i32x2* RESTRICT quanta,
        GLOBAL const i32x2* RESTRICT high_words, GLOBAL const scale_t* RESTRICT scale,
        GLOBAL const u32* RESTRICT place_offset, GLOBAL const u32x4* RESTRICT fullest,
        GLOBAL const u32* RESTRICT ranges, GLOBAL i64x2* pool, GLOBAL i64x2* partial) {
    LOCAL_ARRAY(i64x2, pairs, 8192);
    const u32 n_tasks = levels[depth].hist_tasks;
    const u32 my_first = first_task(n_tasks, GROUP_ID_Y, N_GROUPS_Y);
    const u32 my_last = first_task(n_tasks, GROUP_ID_Y + 1, N_GROUPS_Y);
    if (my_first == my_last) return;
    const u32 first_block = ranges[4 * GROUP_ID] / 16;
    const u32 n_places = ranges[4 * GROUP_ID + 1] - first_block * 16;
    GLOBAL const u32* offset = place_offset + first_block * 16;
    GLOBAL const u8* mine = (GLOBAL const u8*)(codes + block_at(first_block, block_stride, paired, 1));
    const u32 code_begin = ranges[4 * GROUP_ID + 2], code_end = ranges[4 * GROUP_ID + 3];
    (void)fullest; /* here it costs less to add than to leave out */


    source_t source;
    source.quanta = quanta;
    source.high_words = high_words;
    source.offset = offset;
    source.codes = mine;
    source.stride = (u64)row_stride * 16;
    source.straddles = (row_stride & (row_stride - 1)) || row_stride > 4;
    source.first_row = first_row;
    source.n_places = n_places;
    source.code_begin = code_begin;
    source.code_end = code_end;
    u32 most_rows = MOST_ROWS;
    for (u32 c = 0; c < 256 * n_places; c++)
        pairs[c] = MAKE_I64X2(0, 0);


    const u32 first_node = levels[depth].first, n_nodes = levels[depth].count;
    u32 task = my_first;
    u32 index = find_node(task_begin, n_nodes, task);
    while (task < my_last) {
        while (task_begin[index + 1] <= task) index++;
        GLOBAL const node_t* node = &nodes[first_node + index];
        const piece_t piece = piece_of(node, task_begin + index, task, my_last, n_rows);
        GLOBAL const u32* rows = node->depth % 2 ? odd_rows : even_rows;
        const u32 wide = scale[node->tree].wide;
        GLOBAL i64x2* target = pool + (u64)node->slot * n_codes;
        const int straddles = piece.node_first < my_first || piece.node_last > my_last;
        if (piece.node_first < my_first) target = partial + 2 * (u64)GROUP_ID_Y * n_codes;
        else if (straddles) target = partial + (2 * (u64)GROUP_ID_Y + 1) * n_codes;
        const int alone = 1, clears = 1;
        (void)alone;
        
        for (u32 c = code_begin; clears && c < code_end; c++) target[c] = MAKE_I64X2(0, 0);
        u32 first = piece.begin;
        source.rows = rows, source.wide = wide;
        first = add_windows((LOCAL i64*)pairs, target, piece, &source, n_rows, node->count, &windows[GROUP_ID]);
        if (first < piece.end)
        first = add_piece(pairs, target + code_begin, piece, &source, &most_rows);
        for (u32 at = first; at < piece.end; at++) {
            const u32 row = piece.in_order ? at - piece.base : rows[at];

            if (!piece.in_order && at + 24 < piece.end) {
                const u32 later = rows[at + 24];
                PREFETCH_FAR(mine + (u64)(later - first_row) * row_stride * 16);
                PREFETCH_FAR(mine + (u64)(later - first_row) * row_stride * 16 + n_places - 1);
                PREFETCH_FAR(quanta + piece.base + later);
            }
            const i64x2 pair = pair_of(quanta, high_words, piece.base + row, wide);
            add_row(target, pair, offset, mine + (u64)(row - first_row) * row_stride * 16, n_places);
        }

        task = piece.last;
    }

}


/* Add the partial histograms of each node whose tasks are in several groups. The second of these groups
   does it. */
KERNEL(1) reduce(
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
    const u32 n_used = n_tasks < n_groups ? n_tasks : n_groups; /* groups that have tasks */
    const u32 first_group = (u32)((((u64)node_first + 1) * n_used - 1) / n_tasks);
    if (first_task(n_tasks, first_group + 1, n_groups) != my_first) return;
    const u32 last_group = (u32)(((u64)node_last * n_used - 1) / n_tasks);
    GLOBAL i64* target = pool + 2 * (u64)nodes[levels[depth].first + index].slot * n_codes;
    const u32 begin = (u32)(2 * (u64)n_codes * GROUP_ID / N_GROUPS);
    const u32 end = (u32)(2 * (u64)n_codes * (GROUP_ID + 1) / N_GROUPS);
    for (u32 c = begin + LOCAL_ID; c < end; c += 1) {
        i64 sum = partial[(4 * (u64)first_group + 2) * n_codes + c];
        GLOBAL const i64* own = partial + c;
        u32 g = first_group + 1;
        for (; g + 3 <= last_group; g += 4) { /* four reads at a time */
            const i64 s_0 = own[4 * (u64)(g + 0) * n_codes];
            const i64 s_1 = own[4 * (u64)(g + 1) * n_codes];
            const i64 s_2 = own[4 * (u64)(g + 2) * n_codes];
            const i64 s_3 = own[4 * (u64)(g + 3) * n_codes];
            sum += s_0 + s_1 + (s_2 + s_3);
        }
        for (; g <= last_group; g++) sum += own[4 * (u64)g * n_codes];
        target[c] = sum;
    }
}

