## packed_sums: a work-group's own sums, in 8 or 16 bytes a code; `histogram_cpu` imports it
##
##   sums     |f0: 256 places|f1: 256 places|..     codes of a byte: three instructions add to a code
##            |f0  |f1      |f2    |..              wider codes: sums follow each other, as in the pool
##
##   pair     |G: 64 bits|H: 64 bits|
##   cell     |G: 35 bits|H: 29 bits|   more cells than pairs stay in a core's first cache
##   rows     |--run--|--run--|         each run of a root's rows is added to cells, then these to the pool
##
##   stretch  |rows 0 .. 511|512 .. 1023|..   of a run; its numbers are computed once
##   tile     |f0: cells|..|f13: cells|        stays in a core's first cache, while a stretch is added to it; PoCL, 1 M x 28,
##                                             processor ms a round: 17.0 for the root, which took 21.4 with all cells at once
##                                             (of another machine 11.3; 10.3, as the next stretch is asked for)
##
##   A run ends before any sum of gradients could leave its 35 bits. Hessians are not negative in training.
##   So if one sum leaves its 29 bits, the lower bits of all cells add up to less than the run's Hessians.
##   Then these are added again, alone: they give what was carried from each H to its G. The next runs are
##   half as long; in the end there are none.

<%namespace name="listed" file="listed_pairs.cl.mako"/>
<%! TILES = 14, 8, 4, 1 %>\
## Add to the sum of each of a row's codes; `plus` says how.
<%def name="each_code(plus, code, places)">\
% if code == "u8":
    for (; place + ${places} <= n_places; place += ${places}) {
% for k in range(places):
        ${plus(f"sums[{256 * k} + code[{k}]]")};
% endfor
        sums += ${256 * places};
        code += ${places};
    }
    for (; place < n_places; place++) {
        ${plus("sums[code[0]]")};
        sums += 256;
        code++;
    }
% else:
    for (; place < n_places; place++) ${plus("sums[source->offset[place] - source->code_begin + code[place]]")};
% endif
</%def>
## The rows `prefetch` places further on are asked for.
<%def name="ask_ahead(prefetch)">\
% if prefetch:
        if (!piece.in_order && at + ${prefetch} < piece.end) {
            const u32 later = source->rows[at + ${prefetch}];
            PREFETCH_FAR(source->codes + (later - source->first_row) * source->stride);
            if (source->straddles)
                PREFETCH_FAR(source->codes + (later - source->first_row) * source->stride + source->n_places - 1);
            PREFETCH_FAR(source->quanta + piece.base + later);
        }
% endif
</%def>
## The first of a feature's sums, and the first behind them.
<%def name="sums_of_place(code)">\
        const u32 first = source->offset[place] - source->code_begin;
        const u32 end = place + 1 < source->n_places ? source->offset[place + 1] - source->code_begin : n_codes;
        const u32 gap = ${"256 * place - first" if code == "u8" else "0"};
</%def>
<%def name="functions(code, places, prefetch)">
<%
    def plus_cell(cell): return f"{cell} += number"
    def plus_pair(cell): return f"{cell} = ADD_I64X2({cell}, pair)"
%>\
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
    GLOBAL const ${code}* codes;
    u64 stride;    /* codes of a row, with padding */
    u32 straddles; /* a row's codes may lie in two lines of a cache */
    u32 first_row, n_places, code_begin, code_end, wide;
} source_t;

/* Add a number to the cell of each of a row's codes. */
FN void add_to_cells(LOCAL i64* sums, const i64 number, const source_t* source, const u32 row) {
    GLOBAL const ${code}* code = source->codes + (row - source->first_row) * source->stride;
    const u32 n_places = source->n_places;
    u32 place = 0;
${each_code(plus_cell, code, places)}\
}

/* Add a row's gradient and Hessian to the pair of each of its codes. */
FN void add_to_pairs(LOCAL i64x2* sums, const i64x2 pair, const source_t* source, const u32 row) {
    GLOBAL const ${code}* code = source->codes + (row - source->first_row) * source->stride;
    const u32 n_places = source->n_places;
    u32 place = 0;
${each_code(plus_pair, code, places)}\
}

/* Add the cells to the pool's sums, and clear them. Returns the Hessians in their lower bits. */
FN i64 move_cells(LOCAL i64* cells, GLOBAL i64* target, const source_t* source) {
    const u32 n_codes = source->code_end - source->code_begin;
    i64 sum_h = 0;
    for (u32 place = 0; place < source->n_places; place++) {
${sums_of_place(code)}\
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
${sums_of_place(code)}\
        LOCAL i64* own = cells + gap;
        for (u32 c = first; c < end; c++) {
            const i64 carry = own[c] >> H_BITS;
            target[2 * c] -= carry;
            target[2 * c + 1] += carry << H_BITS;
            own[c] = 0;
        }
    }
}

% if code == "u8":
% for width in TILES:
/* Add the rows of a stretch to the cells of ${f"{width} places" if width > 1 else "a place"}. */
FN void add_tile_${width}(LOCAL i64* cells, const i64* numbers, GLOBAL const u8* code, const u64 stride, const u32 n) {
    for (u32 i = 0; i < n; i++, code += stride) {
        const i64 number = numbers[i];${" PREFETCH_FAR(code + STRETCH * stride); /* of the next stretch */" if prefetch and width == TILES[0] else ""}
% for k in range(width):
        cells[${256 * k} + code[${k}]] += number;
% endfor
    }
}

% endfor
/* Add a stretch of rows in order to the cells of all places, tile after tile. */
FN void add_stretch(LOCAL i64* cells, const i64* numbers, const source_t* source, const u32 row, const u32 n) {
    GLOBAL const u8* code = source->codes + (row - source->first_row) * source->stride;
    u32 place = 0;
% for width in TILES:
    for (; place + ${width} <= source->n_places; place += ${width})
        add_tile_${width}(cells + 256 * place, numbers, code + place, source->stride, n);
% endfor
}
% else:
FN void add_stretch(LOCAL i64* cells, const i64* numbers, const source_t* source, const u32 row, const u32 n) {
    for (u32 i = 0; i < n; i++) add_to_cells(cells, numbers[i], source, row + i);
}
% endif

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

${listed.functions(prefetch) if code == "u8" else ""}\
/* Add a piece's rows from `begin` on, whatever their sums. */
FN void add_plain(LOCAL i64x2* pairs, GLOBAL i64x2* target, const piece_t piece, const u32 begin,
                  const source_t* source) {
    const u32 n_codes = source->code_end - source->code_begin;
    u32 at = begin;
% if code == "u8":
    if (!source->wide && !piece.in_order) at = add_listed_pairs(pairs, piece, begin, source);
% endif
    for (; at < piece.end; at++) {
        const u32 row = piece.in_order ? at - piece.base : source->rows[at];
${ask_ahead(prefetch)}\
        const i64x2 pair = pair_of(source->quanta, source->high_words, piece.base + row, source->wide);
        add_to_pairs(pairs, pair, source, row);
    }
    for (u32 place = 0; place < source->n_places; place++) {
${sums_of_place(code)}\
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
</%def>

## Say what rows are added with, and clear the sums.
<%def name="begin(block, code, codes)">
    source_t source;
    source.quanta = quanta;
    source.high_words = high_words;
    source.offset = offset;
    source.codes = ${codes};
    source.stride = (u64)row_stride * ${block};
    source.straddles = (row_stride & (row_stride - 1)) || row_stride > 4;
    source.first_row = first_row;
    source.n_places = n_places;
    source.code_begin = code_begin;
    source.code_end = code_end;
    u32 most_rows = MOST_ROWS;
    for (u32 c = 0; c < ${"256 * n_places" if code == "u8" else "code_end - code_begin"}; c++)
        pairs[c] = MAKE_I64X2(0, 0);
</%def>
