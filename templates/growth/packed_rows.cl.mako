## packed_rows: sums of gradients and Hessians in a word, for one work-item; `whole_trees` imports it behind `pairs_of_nodes`
##
##   pair    |G: 64 bits|H: 64 bits|
##   word    |G: 32|H: 32|             half as many bytes. PoCL, processor ms of a tree, 60 k x 600 of 5 values in joint
##                                     codes, 27.5 and 25.5; columns of 256 codes gained nothing
##   rows    |--run--|--run--|..       of as many rows as there may be; after each, words are added to pairs
##
##   A run has a code at most 127 times, which the codes tell once and for all. So words of rows below 2^24 and 2^25
##   quanta do not overflow; other rows, of which there are few, are added to pairs.
<%def name="packed_rows(code, by_row, apart, prefetch)">
#define MOST_RUN 16384u
#define LEAST_RUN 1024u /* rows of a node that are added between two additions of words to pairs, at least */

/* Whether no run of so many rows has a code of a block of places more than 127 times. */
FN u32 fits_words(const data_t* data, const u32 first, const u32 run, GLOBAL u32* RESTRICT counts) {
    const u32 left = data->n_places - first, n = left < ${by_row} ? left : ${by_row};
    GLOBAL const ${code}* RESTRICT codes = data->by_row + first / ${by_row} * data->block_codes;
    u32 most = 0;
    for (u32 cell = 0; cell < n * ${apart}; cell++) counts[cell] = 0;
    for (u32 begin = 0; begin < data->n_rows && most <= 127; begin += run) {
        const u32 end = data->n_rows - begin < run ? data->n_rows : begin + run;
        for (u32 row = begin; row < end; row++)
            for (u32 k = 0; k < n; k++) counts[k * ${apart} + codes[(u64)row * data->row_codes + k]]++;
        for (u32 cell = 0; cell < n * ${apart}; cell++) {
            most = counts[cell] > most ? counts[cell] : most;
            counts[cell] = 0;
        }
    }
    return most <= 127;
}

/* Rows of a run of a block of places, or 0 if a node's rows are not packed, as a run would have few of them. Who asks
   first finds it; who asks at the same time finds the same. */
FN u32 rows_of_run(const data_t* data, const u32 place, const u32 n_node, GLOBAL u32* counts) {
    GLOBAL u32* own = data->run_rows + place / ${by_row};
    u32 run = *own;
    if (run == 0) {
        for (run = MOST_RUN; run >= LEAST_RUN && !fits_words(data, place / ${by_row} * ${by_row}, run, counts);) run /= 2;
        *own = run;
    }
    const u32 rows = run < data->n_rows ? run : data->n_rows;
    return run >= LEAST_RUN && (u64)n_node * rows >= (u64)LEAST_RUN * data->n_rows ? run : 0;
}

/* Add words to pairs. */
FN void unpack(const data_t* data, const u32 place, const u32 n, GLOBAL i64* packed, GLOBAL i64x2* cells) {
    for (u32 k = 0; k < n; k++) {
        const u32 n_cells = cells_of(data, place + k);
        for (u32 cell = ${apart} * k; cell < ${apart} * k + n_cells; cell++) {
            const i64 word = packed[cell];
            cells[cell] = ADD_I64X2(cells[cell], MAKE_I64X2(word >> 32, word & 0xffffffff));
            packed[cell] = 0;
        }
    }
}

% for n in (16, 12, 8):
/* Add a node's rows to the cells of ${n} places, of which n_own are its own, row by row; words are 0. */
FN void pack_${n}(const data_t* data, const u32 place, const u32 n_own, GLOBAL const node_t* node, GLOBAL const u32* rows,
             const u32 run_rows, GLOBAL i64* RESTRICT packed, GLOBAL i64x2* RESTRICT cells) {
    GLOBAL const ${code}* RESTRICT codes = data->by_row + place / ${by_row} * data->block_codes + place % ${by_row};
    const u32 begin = node->begin, end = begin + node->count, in_order = node->in_order;
    const u64 stride = data->row_codes;
    GLOBAL const i32x2* RESTRICT quanta = data->quanta + (u64)node->tree * data->n_rows;
    for (u32 at = begin; at < end;) {
        const u32 first = in_order ? at - begin : rows[at];
        for (; at < end; at++) {
            const u32 row = in_order ? at - begin : rows[at];
            if ((row ^ first) >= run_rows) break;
% if prefetch:
            if (!in_order && at + ${prefetch} < end) {
                PREFETCH(codes + rows[at + ${prefetch}] * stride);
                PREFETCH(quanta + rows[at + ${prefetch}]);
            }
% endif
            GLOBAL const ${code}* own = codes + row * stride;
            const i32x2 low = quanta[row];
            if ((u32)(low.x + 0xffffff) > 0x1fffffeu || (u32)low.y > 0x1ffffffu) {
                const i64x2 pair = MAKE_I64X2(low.x, low.y);
                for (u32 k = 0; k < n_own; k++) cells[k * ${apart} + own[k]] = ADD_I64X2(cells[k * ${apart} + own[k]], pair);
                continue;
            }
            const i64 word = ((i64)low.x << 32) + low.y;
% for k in range(n):
            packed[${k * apart} + own[${k}]] += word;
% endfor
        }
        unpack(data, place, n_own, packed, cells);
    }
}

% endfor
/* Add a node's rows, none of them wide, to the cells of n places by words, if that pays; returns whether it does. */
FN u32 pack(const data_t* data, const u32 place, const u32 n, GLOBAL const node_t* node, GLOBAL const u32* rows,
            GLOBAL i64x2* cells) {
    if (n < 5 || node->count < LEAST_RUN) return 0;
    GLOBAL i64* words = (GLOBAL i64*)(cells + ${(by_row + 2) * apart});
    const u32 run = rows_of_run(data, place, node->count, (GLOBAL u32*)words);
    if (run == 0) return 0;
    for (u32 k = 0; k < n; k++) {
        const u32 n_cells = cells_of(data, place + k);
        for (u32 cell = 0; cell < n_cells; cell++) words[k * ${apart} + cell] = 0;
    }
    if (n > 12) pack_16(data, place, n, node, rows, run, words, cells);
    else if (n > 8) pack_12(data, place, n, node, rows, run, words, cells);
    else pack_8(data, place, n, node, rows, run, words, cells);
    return 1;
}
</%def>
