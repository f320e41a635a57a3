## next_rows: the rows of a piece, of which the next ones are read while one is added; `histogram_banks` imports it
##
##   ahead="rows"  row ids      | 2 ahead |          ahead="ids": the next row's id alone, of a pair of blocks;
##                 quanta, codes          | 1 ahead  ahead="": nothing. Registers are few where a place takes several
##                                                   instructions: kernels for sm_60 and pvc would spill some.
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

## What is read before the first row; a piece may have none.
<%def name="begin(wg_size, ahead)">\
% if ahead:
        u32 next_row = 0;
% if ahead == "rows":
        u32 row_behind = 0;
        i32x2 next_quanta = MAKE_I32X2(0, 0);
        u32x4 next_codes = MAKE_U32X4(0, 0, 0, 0);
% endif
        if (piece.begin < piece.end) {
            next_row = ROW_AT(piece.begin + LOCAL_ID);
% if ahead == "rows":
            row_behind = ROW_AT(piece.begin + LOCAL_ID + ${wg_size});
            next_quanta = quanta[base + next_row];
            next_codes = codes[CODES_OF(next_row)];
% endif
        }
% endif
</%def>

## The row at `position`: `row`, its quanta `low`, its codes `front` and, of a pair, `behind`.
<%def name="take(wg_size, pair, ahead)">\
            const u32 row = ${"next_row" if ahead else "row_at(rows, position, base, piece.in_order)"};
% if ahead == "rows":
            const i32x2 low = next_quanta;
            const u32x4 front = next_codes;
            next_row = row_behind;
            next_quanta = quanta[base + next_row];
            next_codes = codes[CODES_OF(next_row)];
            row_behind = ROW_AT(position + ${2 * wg_size});
% else:
            const i32x2 low = quanta[base + row];
            const u32x4 front = codes[CODES_OF(row)]${", behind = codes[CODES_OF(row) + has_both]" if pair else ""};
% if ahead:
            next_row = ROW_AT(position + ${wg_size});
% endif
% endif
</%def>
