## histogram: pool[node.slot, code] += (g, h) of the node's rows   (fixed point; same bits in every
##            variant), for the nodes of a level whose histogram is built from rows
## uses: structs tasks blocks
##
##   tasks    |n0 n0 n0|n2|n2 n2|n5|       chunks of rows; task_begin[node] says where a node's start
##   groups   |--g0--|--g1--|---g2--|      each takes a run of tasks, one node after the other
##
##   A node inside one group goes straight to the pool; a node that straddles groups (n0, n2) goes
##   through atomic sums of 64 bits.
##   Local accumulators are 32 bits wide; what overflows them is carried to the 64-bit target.
##
##   Left out: each feature's fullest code, for which all rows would queue up at one
##   address; `split` gets it back as the node's total less the others. Those rows add 0 to a spare
##   accumulator of their own, which costs less than a branch. Padding has code 0, like its fullest
##   code, and is left out with it.
##   Few codes have several accumulators each (`copies`), so that neighbouring rows do not meet.
##
## params: wg_size; ranged (groups hold ranges of codes that may begin inside a feature);
##         cells, local accumulators of either kind; copies of each code, a power of two;
##         chunk, rows a task; block, codes in a load of 16 bytes (16 of one byte or 8 of two);
##         split_blocks, some groups have only a part of a block; unroll, over a block;
##         in_registers, offsets of a block's features;
##         adds, pool slots hold sums of other pages or devices (or 0), to which these are added;
##         copied, each tree has codes and fullest codes of its own, `copy_codes` behind those of the tree before;
##         a row has `row_blocks` blocks
<%page args="wg_size, ranged, cells, copies, chunk, block, split_blocks, unroll, in_registers, adds, copied"/>
<%namespace name="pieces" file="pieces.cl.mako"/>
<%namespace name="sums" file="local_sums.cl.mako"/>
${pieces.pieces(chunk)}

${sums.functions(wg_size, cells, copies)}
/* One code of one row; not_fullest is 0 where it is to be left out. */
#define ADD(place, not_fullest, code) \
% if split_blocks:
    if ((place) >= place_begin && (place) < place_end) { \
% else:
    { \
% endif
        const u32 c = code; \
% if ranged:
        if (c >= code_begin && c < code_end) { \
% else:
        { \
% endif
            const int counts = (not_fullest) != 0; \
            const u32 cell = counts ? c * ${copies} + copy_minus : spare; \
            const i32 my_g = counts ? g : 0, my_h = counts ? h : 0; \
            const i32 old_g = atomic_add_local_i32(&local_g[cell], my_g); \
            const i32 old_h = atomic_add_local_i32(&local_h[cell], my_h); \
            const i32 sum_g = (i32)((u32)old_g + (u32)my_g), sum_h = (i32)((u32)old_h + (u32)my_h); \
            if ((OVERFLOW(old_g, my_g, sum_g) | OVERFLOW(old_h, my_h, sum_h) | (counts ? wide_sign : 0)) < 0) \
                carry(&target[2 * c], old_g, my_g, high.x, old_h, my_h, high.y); \
        } \
    }

## A row's codes, one after the other.
<%def name="add_codes(block)">
<% code = "u8" if block == 16 else "u16" %>
            GLOBAL const ${code}* each = (GLOBAL const ${code}*)(row_codes + block_at(block, block_stride, paired, 1)) - block * ${block};
            GLOBAL const ${code}* each_fullest = (GLOBAL const ${code}*)${"own_fullest" if copied else "fullest"};
            for (u32 place = place_begin; place < place_end; place++) {
                const u32 own = each[place];
                ADD(place, own != each_fullest[place], ((GLOBAL const u32*)place_offset)[place] + own)
            }
</%def>
## A block of a row's codes, from one load.
<%def name="add_block(block, in_registers)">
<%
    per_word = block // 4
    bits = 32 // per_word
    mask = 2**bits - 1
%>
            const u32x4 packed = row_codes[block_at(block, block_stride, paired, 1)];
            const u32x4 differs = MAKE_U32X4(
                packed.x ^ block_fullest.x, packed.y ^ block_fullest.y,
                packed.z ^ block_fullest.z, packed.w ^ block_fullest.w);
% for quarter in range(block // 4):
            {
% if in_registers:
                const u32x4 offset = offset_${quarter};
% else:
                const u32x4 offset = place_offset[block * ${block // 4} + ${quarter}];
% endif
% for k, lane in enumerate("xyzw"):
<%
    place = 4 * quarter + k
    word = "xyzw"[place // per_word]
    shift = bits * (place % per_word)
%>
                ADD(block * ${block} + ${place}, (differs.${word} >> ${shift}) & ${mask},
                    offset.${lane} + ((packed.${word} >> ${shift}) & ${mask}))
% endfor
            }
% endfor
</%def>
KERNEL(${wg_size}) histogram(
${pieces.arguments(dense=True, place="u32x4", more="const u64 copy_codes, const u32 row_blocks, " if copied else "")}) {
    LOCAL_ARRAY(i32, local_g, ${cells + 32});
    LOCAL_ARRAY(i32, local_h, ${cells + 32});
    const u32 spare = ${cells} + (LOCAL_ID & 31);
${pieces.own_tasks()}\
    /* a range of codes [code_begin, code_end) and the places in a row that have them */
    const u32 place_begin = ranges[4 * GROUP_ID], place_end = ranges[4 * GROUP_ID + 1];
    const u32 code_begin = ranges[4 * GROUP_ID + 2], code_end = ranges[4 * GROUP_ID + 3];
    const u32 copy_minus = (LOCAL_ID & ${copies - 1}) - ${copies} * code_begin;
    const u32 block = place_begin / ${block};
% if unroll and not copied:
    const u32x4 block_fullest = fullest[block];
% endif
% if in_registers:
% for quarter in range(block // 4):
    const u32x4 offset_${quarter} = place_offset[block * ${block // 4} + ${quarter}];
% endfor
% endif

<%call expr="pieces.each_piece('i64', False, adds)">
        const i32 wide_sign = wide ? -1 : 0;
% if copied:
        GLOBAL const u32x4* own_codes = codes + node->tree * (copy_codes / ${block});
        GLOBAL const u32x4* own_fullest = fullest + node->tree * row_blocks;
        ${"const u32x4 block_fullest = own_fullest[block];" if unroll else ""}
% endif
        const u32 clear_end = clears ? 2 * code_end : 2 * code_begin;
        for (u32 c = 2 * code_begin + LOCAL_ID; c < clear_end; c += ${wg_size}) target[c] = 0;
        clear_sums(local_g, local_h, (code_end - code_begin) * ${copies});
        BARRIER();
        for (u32 position = piece.begin + LOCAL_ID; position < piece.end; position += ${wg_size}) {
            const u32 row = piece.in_order ? position - piece.base : rows[position];
            const i32x2 low = quanta[piece.base + row];
            i32x2 high = MAKE_I32X2(0, 0);
            if (wide_sign) high = high_words[piece.base + row];
            const i32 g = low.x, h = low.y;
            GLOBAL const u32x4* row_codes = ${"own_codes" if copied else "codes"} + (u64)(row - first_row) * row_stride;
${add_block(block, in_registers) if unroll else add_codes(block)}
        }
        BARRIER();
        write_sums(target + 2 * code_begin, code_end - code_begin, local_g, local_h, alone);
        BARRIER();
</%call>
}
