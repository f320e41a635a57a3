## window_sums: rows of large nodes added to sums of 32 + 32 bits; `histogram_cpu` imports it behind `packed_sums`
##
##   word     |G: 32|H: 32|             half as many bytes as a pair, and no sums to check
##   rows     |--window--|--window--|   of as many rows as there may be, up to 2^14: in none of them a feature has a code
##                                      more than 127 times, which codes tell once a fit
##   batch    |0 .. 1023|               rows of a window: numbers, and of listed rows the codes; then tile after tile.
##                                      The next batch is asked for meanwhile
##
##   So words of rows below 2^24 and 2^25 quanta do not overflow; other rows, of which there are few, are added to the
##   pool at once. PoCL, 1 M x 28, processor ms a round by pairs and by words, least of 7: root 18.1 and 14.2, next level
##   12.0 and 10.6; the level below, whose nodes have 2400 rows of a window, 8.8 and 11.2, as words are moved too often.
<%namespace name="listed" file="listed_pairs.cl.mako"/>\
<%! TILES = 14, 4, 1 %>\
<%def name="functions()">\
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

${listed.batches(TILES, "add_batch", "i64* words", "i64* numbers", "i64 number = numbers[i]", "words[{0}] += number")}\
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
% for width in TILES:
        for (; place + ${width} <= source->n_places; place += ${width}, n_next = 0)
            add_batch_${width}(words + 256 * place, numbers, code + place, n, source, quanta, rows + n, n_next);
% endfor
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
</%def>
