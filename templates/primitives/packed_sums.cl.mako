## packed_sums: both sums of a code in one cell of 8 bytes; `histogram_cpu` imports it
##
##   cell     |G: 35 bits|H: 29 bits|      more cells than pairs of 64 bits stay in a core's first cache
##   rows     |--run--|--run--|            each run is added to cells, then these to the pool
##
##   A run ends before any sum of gradients could leave its 35 bits. Hessians are not negative in training.
##   So if one sum leaves its 29 bits, the lower bits of all cells add up to less than the run's Hessians.
##   Then these are added again, alone: they give what was carried from each H to its G. The next runs are
##   half as long; in the end there are none.

<%def name="functions(code, places, prefetch)">
#define H_BITS 29
#define H_MASK (((i64)1 << H_BITS) - 1)
/* A row's gradient is at most 2^31; Hessians of a run carry less than 2^15. */
#define MOST_GRADIENTS (((i64)1 << (63 - H_BITS)) - ((i64)1 << 32))
#define MOST_ROWS 4096u  /* of a run */
#define LEAST_ROWS 1024u

/* What a work-group adds runs of rows with. */
typedef struct {
    GLOBAL const u32* rows;
    GLOBAL const i32x2* quanta;
    GLOBAL const u32* offset;
    GLOBAL const ${code}* codes;
    u64 stride;                /* codes of a row, with padding */
    u32 first_row, n_places, code_begin, code_end;
} source_t;

/* Add a number to the cell of each of a row's codes. */
FN void add_to_cells(LOCAL i64* cells, const i64 number, const source_t* source, const u32 row) {
    GLOBAL const u32* offset = source->offset;
    GLOBAL const ${code}* code = source->codes + (row - source->first_row) * source->stride;
    const u32 n_places = source->n_places;
    u32 place = 0;
    for (; place + ${places} <= n_places; place += ${places}) {
% for k in range(places):
        cells[offset[place + ${k}] + code[place + ${k}]] += number;
% endfor
    }
    for (; place < n_places; place++) cells[offset[place] + code[place]] += number;
}

/* Add the cells to the pool's sums, and clear them. Returns the Hessians in their lower bits. */
FN i64 move_cells(LOCAL i64* cells, GLOBAL i64* target, const u32 n_cells) {
    i64 sum_h = 0;
    for (u32 c = 0; c < n_cells; c++) {
        const i64 cell = cells[c], h = cell & H_MASK;
        sum_h += h;
        target[2 * c] += cell >> H_BITS;
        target[2 * c + 1] += h;
        cells[c] = 0;
    }
    return sum_h;
}

/* Add a run of rows. Returns the first row behind it; halves `most_rows` if a cell overflowed. */
FN u32 add_run(LOCAL i64* cells, GLOBAL i64* target, const piece_t piece, const u32 begin,
               const source_t* source, u32* most_rows) {
    const u32 n_cells = source->code_end - source->code_begin;
    const u32 most = piece.end - begin < *most_rows ? piece.end : begin + *most_rows;
    LOCAL i64* own = cells - source->code_begin;
    i64 sum_g = 0, sum_h = 0; /* of gradients without their signs, and of Hessians */
    i32 signs = 0; /* negative if a Hessian is: only the primitive's are */
    u32 end = begin;
    for (; end < most && sum_g < MOST_GRADIENTS; end++) {
        const u32 row = piece.in_order ? end - piece.base : source->rows[end];
% if prefetch:
        if (!piece.in_order && end + ${prefetch} < piece.end) {
            const u32 later = source->rows[end + ${prefetch}];
            PREFETCH(source->codes + (later - source->first_row) * source->stride);
            PREFETCH(source->codes + (later - source->first_row) * source->stride + source->n_places - 1);
            PREFETCH(source->quanta + piece.base + later);
        }
% endif
        const i32x2 quanta = source->quanta[piece.base + row];
        sum_g += quanta.x < 0 ? -(i64)quanta.x : quanta.x;
        sum_h += quanta.y;
        signs |= quanta.y;
        add_to_cells(own, ((i64)quanta.x << H_BITS) + quanta.y, source, row);
    }
    GLOBAL i64* sums = target + 2 * (u64)source->code_begin;
    const i64 moved = move_cells(cells, sums, n_cells);
    if (signs >= 0 && moved == sum_h * source->n_places) return end;
    for (u32 at = begin; at < end; at++) {
        const u32 row = piece.in_order ? at - piece.base : source->rows[at];
        add_to_cells(own, source->quanta[piece.base + row].y, source, row);
    }
    for (u32 c = 0; c < n_cells; c++) {
        const i64 carry = cells[c] >> H_BITS;
        sums[2 * c] -= carry;
        sums[2 * c + 1] += carry << H_BITS;
        cells[c] = 0;
    }
    *most_rows /= 2;
    return end;
}
</%def>

## Say what runs of rows are added with, and clear the cells.
<%def name="begin(block)">
    source_t source;
    source.quanta = quanta;
    source.offset = offset;
    source.codes = mine;
    source.stride = (u64)row_stride * ${block};
    source.first_row = first_row;
    source.n_places = n_places;
    source.code_begin = code_begin;
    source.code_end = code_end;
    u32 most_rows = MOST_ROWS;
    for (u32 c = 0; c < code_end - code_begin; c++) cells[c] = 0;
</%def>
