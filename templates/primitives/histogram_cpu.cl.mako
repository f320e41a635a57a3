## histogram_cpu: as `histogram`, with one work-item a group and 64-bit sums in the caches
## uses: structs tasks blocks
##
##   groups   |--g0--|--g1--|  runs of tasks; nodes that straddle groups have partial histograms
##
##   A range of codes is a run of whole blocks: all features, unless they are many.
##
##   Rows of deep nodes lie far apart: each is asked for some rows ahead.
##   Of sampled rows, those that were not drawn have no gradients, and are left out first.
##
##   A work-group adds rows to sums of its own, and these to the pool, see `packed_sums`. Nodes with few rows
##   are added to the pool at once.
##
## params: wg_size (1); chunk, rows a task; block, codes in a load of 16 bytes elsewhere; places,
##         features in one go; prefetch, rows ahead (0: not at all, where that is no CPU); sampled;
##         pairs, sums of its own that a work-group has (0: none);
##         adds, pool slots hold sums of other pages or devices (or 0), to which these are added; copied, each
##         tree has codes of its own, `copy_codes` behind those of the tree before; opened, nodes need the sums of
##         some features alone: if these are at most half of a range's, the others' stay 0; words, rows of large nodes
##         are added by words, see `window_sums`, of codes of a byte that a fit does not change
<%page args="wg_size, chunk, block, places, prefetch, sampled, pairs, adds, copied, opened, words"/>
<%namespace name="straddling" file="partials.cl.mako"/>
<%namespace name="pieces" file="pieces.cl.mako"/>
<%namespace name="packed" file="packed_sums.cl.mako"/>
<%namespace name="windows" file="window_sums.cl.mako"/>
<%
    code, word, bits = ("u8", "u32", 8) if block == 16 else ("u16", "u64", 16)
    opens = ("const u32 open_first, const u32 open_of_tree, const u32 open_words, const u32 block_features, "
             "const u32 row_codes, GLOBAL const u32* RESTRICT opened, GLOBAL u32* open_places, ")
    open_begin = "n_open ? piece.begin : piece.end" if opened else "piece.begin"
%>
<%def name="ask_ahead()">
<% ask = "PREFETCH" if sampled else "PREFETCH_FAR" %>\
% if prefetch:
            if (${f"at + {prefetch} < n_drawn" if sampled else f"!piece.in_order && at + {prefetch} < piece.end"}) {
                const u32 later = ${"drawn" if sampled else "rows"}[at + ${prefetch}];
                ${ask}(mine + (u64)(later - first_row) * row_stride * ${block});
                ${ask}(mine + (u64)(later - first_row) * row_stride * ${block} + n_places - 1);
                ${ask}(quanta + piece.base + later);
            }
% endif
</%def>
${pieces.pieces(chunk)}
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
                GLOBAL const ${code}* code, const u32 n_places) {
    u32 place = 0;
    for (; place + ${places} <= n_places; place += ${places}) {
        const ${word} some = *(GLOBAL const ${word}*)(code + place);
% for k in range(places):
        {
            const u32 c = offset[place + ${k}] + (u32)(some >> ${k * bits} & ${2**bits - 1});
            target[c] = ADD_I64X2(target[c], pair);
        }
% endfor
    }
    for (; place < n_places; place++) {
        const u32 c = offset[place] + code[place];
        target[c] = ADD_I64X2(target[c], pair);
    }
}

% if opened:
/* List the open places of a range, each with the code at which its sums begin. Returns their number. */
FN u32 list_open(GLOBAL u32* listed, GLOBAL const u32* open, GLOBAL const u32* offset,
                 const u32 first_feature, const u32 n_places) {
    u32 n_open = 0;
    for (u32 place = 0; place < n_places; place++) {
        const u32 feature = first_feature + place;
        listed[2 * n_open] = place;
        listed[2 * n_open + 1] = offset[place];
        n_open += (open[feature / 32] >> feature % 32) & 1;
    }
    return n_open;
}

/* Add a row's gradient and Hessian to the codes of its open features. */
FN void add_to_open(GLOBAL i64x2* target, const i64x2 pair, GLOBAL const u32* listed,
                    GLOBAL const ${code}* code, const u32 n_open) {
    for (u32 k = 0; k < n_open; k++) {
        const u32 c = listed[2 * k + 1] + code[listed[2 * k]];
        target[c] = ADD_I64X2(target[c], pair);
    }
}

% endif
% if pairs:
${packed.functions(code, places, prefetch)}
% endif
% if words:
${windows.functions()}
% endif
% if sampled:
#define RUN 1024 /* rows of which those that were drawn are picked out together */

/* List the rows of a run that were drawn: those with gradients. Returns their number. */
FN u32 list_drawn(u32* drawn, const piece_t piece, const u32 run, const u32 run_end,
                  GLOBAL const u32* rows, GLOBAL const i32x2* quanta,
                  GLOBAL const i32x2* high_words, const u32 wide) {
    u32 n_drawn = 0;
    for (u32 at = run; at < run_end; at++) { /* no branch, as chance would mispredict it */
        const u32 row = piece.in_order ? at - piece.base : rows[at];
% if prefetch:
        if (!piece.in_order && at + ${prefetch} < piece.end)
            PREFETCH(quanta + piece.base + rows[at + ${prefetch}]);
% endif
        const i32x2 low = quanta[piece.base + row];
        i32 bits = low.x | low.y;
        if (wide) {
            const i32x2 high = high_words[piece.base + row];
            bits |= high.x | high.y;
        }
        drawn[n_drawn] = row;
        n_drawn += bits != 0;
    }
    return n_drawn;
}

% endif
KERNEL(${wg_size}) histogram(
${pieces.arguments(dense=True, sum="i64x2", more="const u64 copy_codes, " * copied + opens * opened + "GLOBAL u32* windows, " * words)}) {
% if pairs:
    LOCAL_ARRAY(i64x2, pairs, ${pairs});
% endif
${pieces.own_tasks()}\
    const u32 first_block = ranges[4 * GROUP_ID] / ${block};
    const u32 n_places = ranges[4 * GROUP_ID + 1] - first_block * ${block};
    GLOBAL const u32* offset = place_offset + first_block * ${block};
    GLOBAL const ${code}* ${"first_copy" if copied else "mine"} = (GLOBAL const ${code}*)(codes + block_at(first_block, block_stride, paired, 1));
    const u32 code_begin = ranges[4 * GROUP_ID + 2], code_end = ranges[4 * GROUP_ID + 3];
    (void)fullest; /* here it costs less to add than to leave out */
% if opened:
    GLOBAL u32* listed = open_places + 2 * ((u64)GROUP_ID_Y * row_codes + first_block * ${block});
% endif

% if pairs:
${packed.begin(block, code, "first_copy" if copied else "mine")}\
% endif

<%call expr="pieces.each_piece('i64x2', True, adds)">
% if copied:
        GLOBAL const ${code}* mine = first_copy + node->tree * copy_codes;
        ${"source.codes = mine;" if pairs else ""}
% endif
        for (u32 c = code_begin; clears && c < code_end; c++) target[c] = MAKE_I64X2(0, 0);
% if opened:
        const u32 n_open = list_open(
            listed, opened + (u64)(open_first + (open_of_tree ? node->tree : index)) * open_words,
            offset, first_block * block_features, n_places);
        const u32 few = 2 * n_open <= n_places;
% endif
% if sampled:
        for (u32 run = ${open_begin}; run < piece.end; run += RUN) {
        const u32 run_end = piece.end - run < RUN ? piece.end : run + RUN;
        u32 drawn[RUN];
        const u32 n_drawn = list_drawn(
            drawn, piece, run, run_end, rows, quanta, high_words, wide);
        for (u32 at = 0; at < n_drawn; at++) {
            const u32 row = drawn[at];
% else:
        u32 first = ${open_begin};
% if pairs:
        source.rows = rows, source.wide = wide;
% if words:
        first = add_windows((LOCAL i64*)pairs, target, piece, &source, n_rows, node->count, &windows[GROUP_ID]);
        if (first < piece.end)
% endif
        ${"if (!few) " if opened else ""}first = add_piece(pairs, target + code_begin, piece, &source, &most_rows);
% endif
        for (u32 at = first; at < piece.end; at++) {
            const u32 row = piece.in_order ? at - piece.base : rows[at];
% endif
${ask_ahead()}\
            const i64x2 pair = pair_of(quanta, high_words, piece.base + row, wide);
% if opened:
            if (few) {
                add_to_open(target, pair, listed, mine + (u64)(row - first_row) * row_stride * ${block}, n_open);
                continue;
            }
% endif
            add_row(target, pair, offset, mine + (u64)(row - first_row) * row_stride * ${block}, n_places);
        }
% if sampled:
        }
% endif
</%call>
}

${straddling.reduce(wg_size, adds)}
