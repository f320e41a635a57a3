## staged_rows: histograms from codes by row, for one work-item; `whole_best_first` imports these defs
##
##   rows     r17 r3 r90 ..              of a node's list: each is asked for some rows ahead
##   staged   |c17 c3 c90 ..|q17 q3 ..|  codes and sums of some of them, copied once, as rows lie far apart
##   cells    |f0 .. f7|f8 .. f15|..     a group's own; staged rows are added 8 features after 8 features, as the
##                                       cells of so many fit a core's first cache
##
##   The cells of a node may be those of several groups, each from a part of its rows.

<%def name="histograms(code, prefetch, most_codes, most_features, staged)">
<%
    word, bits = ("u32", 8) if code == "u8" else ("u64", 16)
    cells, words = most_features * most_codes, most_features // 4 * (staged + 16) * bits // 32
%>
typedef struct {
    u32 n_rows, row_codes, n_codes; /* codes of a row, with padding; codes of all features */
    GLOBAL const u32* feature_offset;
    GLOBAL const u32* feature_bins;
    GLOBAL const ${code}* codes; /* by row */
    GLOBAL const i32x2* quanta;
    GLOBAL const i32x2* high_words;
    GLOBAL i64x2* scratch; /* of all groups: of each one cells of a task's features, and staged rows */
} data_t;

/* Rows of a node, and where these have their quanta. */
typedef struct {
    u32 begin, end, in_order, wide;
    GLOBAL const u32* rows;
    GLOBAL const i32x2* quanta;
    GLOBAL const i32x2* high_words;
} rows_t;

FN rows_t rows_of(const data_t* data, GLOBAL const node_t* node, GLOBAL const scale_t* scales,
                  GLOBAL const u32* even_rows, GLOBAL const u32* odd_rows) {
    rows_t own;
    own.begin = node->begin, own.end = node->begin + node->count, own.in_order = node->in_order;
    own.wide = scales[node->tree].wide;
    own.rows = node->depth % 2 ? odd_rows : even_rows;
    own.quanta = data->quanta + (u64)node->tree * data->n_rows;
    own.high_words = data->high_words + (own.wide ? (u64)node->tree * data->n_rows : 0);
    return own;
}

FN i64x2 pair_of(const rows_t* own, const u32 row) {
    const i32x2 low = own->quanta[row];
    const i64x2 pair = MAKE_I64X2(low.x, low.y);
    if (!own->wide) return pair;
    const i32x2 high = own->high_words[row];
    return ADD_I64X2(pair, MAKE_I64X2((i64)high.x << 32, (i64)high.y << 32));
}

#define CELLS ${cells} /* of a task's features */
#define STAGED ${staged}
#define APART ${staged + 16} /* from a word of staged codes to the next one's: not a power of 2, as a cache has sets */

/* What a group has in scratch memory: cells, sums of staged rows, their codes. */
FN GLOBAL i64x2* cells_of(const data_t* data, const u32 group) {
    return data->scratch + (u64)group * ${cells + staged + -(-words // 4)};
}
FN GLOBAL i64x2* staged_pairs(const data_t* data) { return cells_of(data, GROUP_ID) + CELLS; }
FN GLOBAL ${word}* staged_codes(const data_t* data) { return (GLOBAL ${word}*)(staged_pairs(data) + STAGED); }

FN void clear(GLOBAL i64x2* cells, const u32 n_features) {
    const u32 n_cells = (n_features + 3) / 4 * 4 * ${most_codes};
    for (u32 cell = 0; cell < n_cells; cell++) cells[cell] = MAKE_I64X2(0, 0);
}

/* Copy sums and codes of n rows, four codes a word, from a feature on. */
FN void stage(const data_t* data, const u32 feature, const u32 n_words, const rows_t* own, const u32 begin, const u32 n) {
    GLOBAL i64x2* RESTRICT pairs = staged_pairs(data);
    GLOBAL ${word}* RESTRICT staged = staged_codes(data);
    GLOBAL const ${code}* codes = data->codes + feature;
    const u64 stride = data->row_codes;
    for (u32 i = 0; i < n; i++) {
        const u32 at = begin + i, row = own->in_order ? at - own->begin : own->rows[at];
% if prefetch:
        if (!own->in_order && at + ${prefetch} < own->end) {
            const u32 later = own->rows[at + ${prefetch}];
            PREFETCH_FAR(codes + later * stride);
            PREFETCH_FAR(own->quanta + later);
        }
% endif
        GLOBAL const ${word}* words = (GLOBAL const ${word}*)(codes + row * stride);
        pairs[i] = pair_of(own, row);
        for (u32 word = 0; word < n_words; word++) staged[word * APART + i] = words[word];
    }
}

% for words in (2, 1):
/* Add staged rows to the cells of the ${4 * words} features of ${words} word${"s" if words > 1 else ""}; those behind a task's have cells, too. */
FN void add_${4 * words}(const data_t* data, const u32 word, const u32 n, GLOBAL i64x2* RESTRICT cells) {
    GLOBAL const i64x2* RESTRICT pairs = staged_pairs(data);
    GLOBAL const ${word}* RESTRICT staged = staged_codes(data) + word * APART;
    cells += 4 * word * ${most_codes};
    for (u32 i = 0; i < n; i++) {
        const i64x2 pair = pairs[i];
% for w in range(words):
        const ${word} some_${w} = staged[${w} * APART + i];
% endfor
% for k in range(4 * words):
        {
            GLOBAL i64x2* cell = cells + (${k * most_codes} + (u32)(some_${k // 4} >> ${k % 4 * bits} & ${2**bits - 1}));
            *cell = ADD_I64X2(*cell, pair);
        }
% endfor
    }
}

% endfor
/* Add the rows begin .. end - 1 of a node's list to this group's cells of some features. */
FN void add_rows(const data_t* data, const u32 feature, const u32 n_features, const rows_t* own, const u32 begin,
                 const u32 end) {
    GLOBAL i64x2* cells = cells_of(data, GROUP_ID);
    const u32 n_words = (n_features + 3) / 4;
    for (u32 at = begin; at < end; at += STAGED) {
        const u32 n = end - at < STAGED ? end - at : STAGED;
        stage(data, feature, n_words, own, at, n);
        u32 word = 0;
        for (; word + 2 <= n_words; word += 2) add_8(data, word, n, cells);
        if (word < n_words) add_4(data, word, n, cells);
    }
}
</%def>

<%def name="parts(most_codes)">
/* Groups that add parts of a phase's rows: how many have asked for a place, and at each place the number of a group
   that has rows, from 1 on. */
#define ASKED 5
#define ADDERS 6
#define MOST_ADDERS (DONE - ADDERS)

FN u32 ask_to_add(GLOBAL u32* phase) { return atomic_add_global_u32(phase + ASKED, 1); }

/* Add a task's rows to this group's cells of all features; before the first ones they become 0. */
FN void add_part(const data_t* data, GLOBAL u32* phase, const u32 place, const u32 task, const u32 n_features,
                 const rows_t* own) {
    if (phase[ADDERS + place] == 0) {
        clear(cells_of(data, GROUP_ID), n_features);
        phase[ADDERS + place] = GROUP_ID + 1;
    }
    const u32 begin = own->begin + task * STAGED;
    add_rows(data, 0, n_features, own, begin, own->end - begin < STAGED ? own->end : begin + STAGED);
}

/* The cells of the features begin .. end - 1, of which groups have added parts in a phase. */
FN GLOBAL i64x2* sum_of_parts(const data_t* data, GLOBAL const u32* phase, const u32 begin, const u32 end) {
    GLOBAL i64x2* cells = 0;
    for (u32 place = 0; place < MOST_ADDERS; place++) {
        if (phase[ADDERS + place] == 0) continue;
        GLOBAL i64x2* part = cells_of(data, phase[ADDERS + place] - 1) + begin * ${most_codes};
        for (u32 cell = 0; cells && cell < (end - begin) * ${most_codes}; cell++)
            cells[cell] = ADD_I64X2(cells[cell], part[cell]);
        if (!cells) cells = part;
    }
    return cells;
}
</%def>
