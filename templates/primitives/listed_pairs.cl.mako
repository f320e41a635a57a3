## listed_pairs: rows of a list added to pairs, tile after tile; `packed_sums` imports it
##
##   batch    |0 .. 1023|     of rows: their quanta, and their codes one behind the other
##   tile     |f0: pairs|..|f6: pairs|   stays in a core's first cache while a batch is added to it; the rows of the next
##                                       batch are asked for meanwhile
##
##   PoCL, 1 M x 28, depth 6, processor ms of levels 2 to 5, row by row and so, least of 6: 8.2 and 7.0, 9.8 and 8.4, 10.6
##   and 8.6, 11.2 and 9.6.
<%! TILES = 7, 4, 1 %>\
<%def name="functions(prefetch)">\
#define LISTED 1024u

${batches(TILES, "add_listed", "i64x2* sums", "i32x2* own", "i64x2 pair = MAKE_I64X2(own[i].x, own[i].y)",
          "sums[{0}] = ADD_I64X2(sums[{0}], pair)")}\
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
% if prefetch:
            if (at == begin && i + ${prefetch} < n) { /* nobody has asked for the first batch */
                PREFETCH_FAR(source->codes + (rows[i + ${prefetch}] - first_row) * source->stride);
                PREFETCH_FAR(quanta + rows[i + ${prefetch}]);
            }
% endif
            GLOBAL const u8* code = source->codes + (rows[i] - first_row) * source->stride;
            codes[2 * i] = *(GLOBAL const u32x4*)code;
            if (second) codes[2 * i + 1] = *(GLOBAL const u32x4*)(code + 16);
            own[i] = quanta[rows[i]];
        }
        const u8* code = (const u8*)codes;
        u32 n_next = left - n < n ? left - n : n, place = 0;
% for width in TILES:
        for (; place + ${width} <= source->n_places; place += ${width}, n_next = 0)
            add_listed_${width}(sums + 256 * place, own, code + place, n, source, quanta, rows + n, n_next);
% endfor
    }
    return piece.end;
}

</%def>

## Functions that add a batch to some places: the types and names of sums and of the rows' numbers, what is loaded of a
## row, and how it is added at a place.
<%def name="batches(tiles, name, sums, numbers, row, add)">\
% for width in tiles:
/* Add a batch to ${f"{width} places" if width > 1 else "a place"}; ask for n_next rows of the next one, at most as many. */
FN void ${name}_${width}(LOCAL ${sums}, const ${numbers}, const u8* code, const u32 n, const source_t* source,
${" " * (13 + len(name))}GLOBAL const i32x2* quanta, GLOBAL const u32* next, const u32 n_next) {
    u32 i = 0;
% for asks in (True, False):
    for (; i < ${"n_next" if asks else "n"}; i++, code += 32) {
% if asks:
        PREFETCH_FAR(source->codes + (next[i] - source->first_row) * source->stride);
        PREFETCH_FAR(quanta + next[i]);
% endif
        const ${row};
% for k in range(width):
        ${add.format(f"{256 * k} + code[{k}]")};
% endfor
    }
% endfor
}

% endfor
</%def>
