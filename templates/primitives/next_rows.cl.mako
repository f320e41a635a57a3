## next_rows: the rows of a piece, of which the next ones are read while one is added; `histogram_banks` imports it
##
##   one block     row ids      | 2 ahead |          of a pair of blocks, for which registers are few, the
##                 quanta, codes          | 1 ahead  next row's id alone
##
##   Levels of many nodes wait for memory, as their rows lie apart. H200, 11 M x 28, ms of the histograms of a round: one
##   block (OpenCL) 1.237 and 1.138, a pair (CUDA) 1.100 and 1.086, or 1.083 with quanta and codes, too.

<%def name="functions()">
/* The row at a place of a piece; behind its end it is the last one. */
#define ROW_AT(at) row_at(rows, (at) < piece.end ? (at) : piece.end - 1, base, piece.in_order)
FN u32 row_at(GLOBAL const u32* rows, const u32 at, const u32 base, const u32 in_order) {
    return in_order ? at - base : rows[at];
}
#define CODES_OF(row) ((u64)((row) - first_row) * row_stride + own_block)
</%def>

## What is read before the first row.
<%def name="begin(wg_size, pair)">\
        u32 next_row = ROW_AT(piece.begin + LOCAL_ID);
% if not pair:
        i32x2 next_quanta = quanta[base + next_row];
        u32x4 next_codes = codes[CODES_OF(next_row)];
        u32 row_behind = ROW_AT(piece.begin + LOCAL_ID + ${wg_size});
% endif
</%def>

## The row at `position`: `row`, its quanta `low`, its codes `front` and, of a pair, `behind`.
<%def name="take(wg_size, pair)">\
            const u32 row = next_row;
% if pair:
            const i32x2 low = quanta[base + row];
            const u32x4 front = codes[CODES_OF(row)], behind = codes[CODES_OF(row) + has_both];
            next_row = ROW_AT(position + ${wg_size});
% else:
            const i32x2 low = next_quanta;
            const u32x4 front = next_codes;
            next_row = row_behind;
            next_quanta = quanta[base + next_row];
            next_codes = codes[CODES_OF(next_row)];
            row_behind = ROW_AT(position + ${2 * wg_size});
% endif
</%def>
