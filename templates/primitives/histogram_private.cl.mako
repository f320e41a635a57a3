## histogram_private: as `histogram`, without any atomic: every accumulator has one owner
## uses: structs tasks blocks
##
##   work-item    0  1  2  3  ..  31 | 32 33 ..       a column: a feature's gradients or Hessians
##   place        0  0  1  1  ..  15 |  0  0 ..       in the block of features
##   copy         0  0  0  0  ..   0 |  1  1 ..       copies take rows in turn
##
##   All work-items of a copy add the same row, each to its own 64-bit sums: no two ever meet, so
##   that a code that all rows have costs nothing. (CatBoost's histograms are private to sub-groups
##   in this way, Prokhorenkova et al. 2018; here owners are work-items, of any sub-group's size.)
##   Copies are added up at a node's end; nodes that straddle groups have partial histograms. Left
##   out is each feature's fullest code, as in `histogram`.
##
## params: wg_size; codes, most codes in a range; copies; chunk, rows a task;
##         block, codes in a load of 16 bytes;
##         adds, pool slots hold sums of other pages or devices (or 0), to which these are added;
##         copied as in `histogram`
<%page args="wg_size, codes, copies, chunk, block, adds, copied"/>
<%namespace name="straddling" file="partials.cl.mako"/>
<%namespace name="pieces" file="pieces.cl.mako"/>
<% code = "u8" if block == 16 else "u16" %>
${pieces.pieces(chunk)}

KERNEL(${wg_size}) histogram(
${pieces.arguments(dense=True, code=code, quanta="i32", fullest=code, more="const u64 copy_codes, const u32 row_blocks, " if copied else "")}) {
    LOCAL_ARRAY(i64, sums, ${2 * codes * copies});
${pieces.own_tasks()}\
    const u32 place_begin = ranges[4 * GROUP_ID], place_end = ranges[4 * GROUP_ID + 1];
    const u32 code_begin = ranges[4 * GROUP_ID + 2], code_end = ranges[4 * GROUP_ID + 3];
    const u32 block = place_begin / ${block};
    GLOBAL const ${code}* ${"first_copy" if copied else "block_codes"} = codes + block_at(block, block_stride, paired, 1) * ${block};

<%call expr="pieces.each_piece('i64', True, adds)">
% if copied:
        GLOBAL const ${code}* block_codes = first_copy + node->tree * copy_codes;
        GLOBAL const ${code}* own_fullest = fullest + node->tree * row_blocks * ${block};
% endif
        for (u32 i = LOCAL_ID; i < ${2 * codes * copies}; i += ${wg_size}) sums[i] = 0;
        BARRIER();
        for (u32 column = LOCAL_ID; column < ${2 * block * copies}; column += ${wg_size}) {
            const u32 copy = column / ${2 * block};
            const u32 place = block * ${block} + column % ${2 * block} / 2, part = column % 2;
            if (place < place_begin || place >= place_end) continue;
            const u32 skipped = ${"own_fullest" if copied else "fullest"}[place];
            LOCAL i64* mine = sums + 2 * (copy * ${codes} + place_offset[place] - code_begin) + part;
            for (u32 position = piece.begin + copy; position < piece.end; position += ${copies}) {
                const u64 row = piece.in_order ? position - piece.base : rows[position];
                const u32 c = block_codes[(row - first_row) * row_stride * ${block} + place % ${block}];
                i64 q = quanta[2 * (piece.base + row) + part];
                if (wide) q += (i64)high_words[2 * (piece.base + row) + part] << 32;
                if (c != skipped) mine[2 * c] += q;
            }
        }
        BARRIER();
        for (u32 i = LOCAL_ID; i < 2 * (code_end - code_begin); i += ${wg_size}) {
            i64 sum = 0;
            for (u32 copy = 0; copy < ${copies}; copy++) sum += sums[2 * copy * ${codes} + i];
            if (!clears) sum += target[2 * code_begin + i];
            target[2 * code_begin + i] = sum;
        }
        BARRIER();
</%call>
}

${straddling.reduce(wg_size, adds)}
