## row_codes: the code of a row in a feature, from dense codes or from tiles; kernels import it
##
##   u8, u16    dense codes
##   tiled      a row's cells of the feature's tile ascend: a binary search finds the feature's, or
##              that the value is missing
##   joint      a feature is a digit of the code of its place: as blocks of a row have 16 places, or place by place
##
##   column_of  a feature of all rows of a page, of which `code_of` reads one
##   row_of     a row of a page, of which `code_at` reads one feature

<%def name="in_columns(code)">
% if code == "tiled":
${search()}
/* A feature's cells in its tile are first .. behind - 1. */
typedef struct {
    GLOBAL const u32* begins;
    GLOBAL const u16* cells;
    u32x4 feature;
} column_t;

FN column_t column_of(GLOBAL const u32* row_begin, GLOBAL const u16* cells, GLOBAL const u32x4* features,
                      const u32 row_words, const u32 feature) {
    column_t column;
    column.feature = features[feature];
    column.begins = row_begin + (u64)column.feature.x * row_words;
    column.cells = cells;
    return column;
}

FN u32 code_of(const column_t column, const u32 row) {
    return code_in(column.cells, column.begins[row], column.begins[row + 1], column.feature);
}
% elif code == "joint":
${digits()}
typedef struct {
    GLOBAL const u8* codes;
    u64 row_stride;
    u32 part;
} column_t;

FN column_t column_of(GLOBAL const u8* codes, GLOBAL const u32* digits, const u32 place_codes,
                      const u64 row_stride, const u64 block_stride, const u32 paired, const u32 feature) {
    column_t column;
    column.part = digits[2 * feature + 1];
    column.codes = codes + place_at(digits[2 * feature], place_codes, block_stride, paired);
    column.row_stride = row_stride;
    return column;
}

FN u32 code_of(const column_t column, const u32 row) {
    return digit_of(column.codes[row * column.row_stride], column.part);
}
% else:
typedef struct {
    GLOBAL const ${code}* codes;
    u64 row_stride;
} column_t;

FN column_t column_of(GLOBAL const ${code}* codes, const u32 block_features, const u64 row_stride,
                      const u64 block_stride, const u32 paired, const u32 feature) {
    const u32 block = feature / block_features;
    column_t column;
    column.codes = codes + block_at(block, block_stride, paired, ${16 if code == "u8" else 8}) + feature % block_features;
    column.row_stride = row_stride;
    return column;
}

FN u32 code_of(const column_t column, const u32 row) { return column.codes[row * column.row_stride]; }
% endif
</%def>

<%def name="in_rows(code)">
% if code == "tiled":
${search()}
typedef struct {
    GLOBAL const u32* begins; /* where the row begins in the first tile */
    GLOBAL const u16* cells;
    GLOBAL const u32x4* features;
    u32 row_words;
} row_t;

FN row_t row_of(GLOBAL const u32* row_begin, GLOBAL const u16* cells, GLOBAL const u32x4* features,
                const u32 row_words, const u32 row) {
    row_t found;
    found.begins = row_begin + row;
    found.cells = cells;
    found.features = features;
    found.row_words = row_words;
    return found;
}

FN u32 code_at(const row_t row, const u32 feature) {
    const u32x4 own = row.features[feature];
    GLOBAL const u32* begins = row.begins + (u64)own.x * row.row_words;
    return code_in(row.cells, begins[0], begins[1], own);
}
% elif code == "joint":
${digits()}
typedef struct {
    GLOBAL const u8* codes;
    GLOBAL const u32* digits;
    u64 block_stride;
    u32 place_codes, paired;
} row_t;

FN row_t row_of(GLOBAL const u8* codes, GLOBAL const u32* digits, const u32 place_codes,
                const u64 row_stride, const u64 block_stride, const u32 paired, const u32 row) {
    row_t found;
    found.codes = codes + (u64)row * row_stride;
    found.digits = digits;
    found.block_stride = block_stride;
    found.place_codes = place_codes;
    found.paired = paired;
    return found;
}

FN u32 code_at(const row_t row, const u32 feature) {
    GLOBAL const u32* own = row.digits + 2 * feature;
    return digit_of(row.codes[place_at(own[0], row.place_codes, row.block_stride, row.paired)], own[1]);
}
% else:
/* Codes in 16 bytes of a row. */
#define BLOCK ${16 if code == "u8" else 8}

typedef struct {
    GLOBAL const ${code}* codes;
    u64 block_stride;
    u32 paired;
} row_t;

FN row_t row_of(GLOBAL const ${code}* codes, const u64 row_stride, const u64 block_stride, const u32 paired,
                const u32 row) {
    row_t found;
    found.codes = codes + (u64)row * row_stride;
    found.block_stride = block_stride;
    found.paired = paired;
    return found;
}

FN u32 code_at(const row_t row, const u32 place) {
    return row.codes[block_at(place / BLOCK, row.block_stride, row.paired, BLOCK) + place % BLOCK];
}
% endif
</%def>

<%def name="digit()">
/* A feature's code among those of its place; `part` is 2^16 / step with the size above it, see `digit_table`. */
FN u32 digit_of(const u32 code, const u32 part) {
    return (code * (part & 0xFFFFu) & 0xFFFFu) * (part >> 16) >> 16;
}
</%def>

<%def name="digits()">
${digit()}
/* The place of a joint code among those of row 0. */
FN u64 place_at(const u32 place, const u32 place_codes, const u64 block_stride, const u32 paired) {
    return block_at(place / place_codes, block_stride, paired, 16) + place % place_codes;
}
</%def>

<%def name="search()">
/* The code among a row's cells of a tile; feature: its tile, first cell, last cell + 1, missing code. */
FN u32 code_in(GLOBAL const u16* cells, const u32 begin, const u32 end, const u32x4 feature) {
    u32 low = begin, high = end;
    while (low < high) {
        const u32 middle = low + (high - low) / 2;
        if (cells[middle] < feature.y) low = middle + 1; else high = middle;
    }
    const u32 cell = low < end ? cells[low] : feature.z;
    return cell < feature.z ? cell - feature.y : feature.w;
}
</%def>

## Parameters of kernels, and the arguments that go on to `column_of` and `row_of`.
<%def name="column_parameters(code)">\
% if code == "tiled":
const u32 row_words, GLOBAL const u32* RESTRICT row_begin, GLOBAL const u16* RESTRICT cells, GLOBAL const u32x4* RESTRICT features\
% elif code == "joint":
const u32 place_codes, const u64 row_stride, const u64 block_stride, const u32 paired, GLOBAL const u32* RESTRICT digits, GLOBAL const u8* RESTRICT codes\
% else:
const u32 block_features, const u64 row_stride, const u64 block_stride, const u32 paired, GLOBAL const ${code}* RESTRICT codes\
% endif
</%def>
<%! of_joint = "codes, digits, place_codes, row_stride, block_stride, paired" %>\
<%def name="column(code)">${"row_begin, cells, features, row_words" if code == "tiled" else of_joint if code == "joint" else "codes, block_features, row_stride, block_stride, paired"}</%def>
<%def name="row_parameters(code)">\
% if code == "tiled":
const u32 row_words, GLOBAL const u32* RESTRICT row_begin, GLOBAL const u16* RESTRICT cells, GLOBAL const u32x4* RESTRICT features\
% elif code == "joint":
const u32 place_codes, const u64 row_stride, const u64 block_stride, const u32 paired, GLOBAL const u32* RESTRICT digits, GLOBAL const u8* RESTRICT codes\
% else:
const u64 row_stride, const u64 block_stride, const u32 paired, GLOBAL const ${code}* RESTRICT codes\
% endif
</%def>
<%def name="row(code)">${"row_begin, cells, features, row_words" if code == "tiled" else of_joint if code == "joint" else "codes, row_stride, block_stride, paired"}</%def>

## Statements by which the row `mine`, behind `in_rows`, walks `tree`: `leaf` is the node that it reaches, and `step`
## that node's step_t.
<%def name="walk(categories)">\
            u32 leaf = tree; /* the root */
            u32x4 step = steps[leaf];
            while (step.x) {
% if categories:
                const u32 left = step_goes_left(code_at(mine, step.y & ~BY_SET), step.y, step.z, sets);
% else:
                const u32 left = code_goes_left(code_at(mine, step.y), unpacked_split(step.z));
% endif
                leaf = tree + (left ? step.x : step.x + 1);
                step = steps[leaf];
            }
</%def>
