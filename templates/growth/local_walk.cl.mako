## local_walk: rows walk trees whose nodes lie in local memory, by codes of their own there; `update_margins` imports it
##
##   ways     |n0|n1|n2| ..          two words of each node of a batch
##   staged   |item 0|item 1| ..     codes 0 .. 3 of each work-item's row
##            |item 0|item 1| ..     codes 4 .. 7, and so on: a work-item's words share a bank of local memory, so that
##                                   neighbours do not wait for each other, whatever codes they look at. A code is
##                                   shifted out of its word: Mesa reads bytes of words wrongly in local memory
##
##   a node   |last |1 |bit of its code in `staged`  |     first word; 0 in leaves
##            |n    |left child's number             |     second word; the value of leaves
##            |31 ..|23 .. 0
##
##   Codes last + 1 .. last + n go right, counted by 8 bits: n ends before the missing code, or behind code 255. A code in
##   the upper 8 bits, less the first word, has there code - (last + 1), as the lower bits borrow 1. It is below the
##   second word if that is below n; if it is n, the lower bits that are left are more than any child's number.

<%def name="functions(wg_size)">
FN i32x2 way_of(const u32x4 step) {
    const code_split_t split = unpacked_split(step.z);
    const u32 n = (split.also > split.last ? split.also : 256) - split.last - 1;
    const u32 place = step.y / 4 * ${32 * wg_size} + step.y % 4 * 8;
    if (!step.x) return MAKE_I32X2(0, (i32)step.w);
    return MAKE_I32X2((i32)(split.last << 24 | 1u << 23 | place), (i32)(n << 24 | step.x));
}
</%def>

## Read the nodes; behind them, a barrier is needed.
<%def name="read_nodes(wg_size, nodes, words)">\
    LOCAL_ARRAY(i32x2, ways, ${nodes});
    LOCAL_ARRAY(u32, staged, ${words * wg_size});
    for (u32 id = LOCAL_ID; id < n_nodes; id += ${wg_size}) ways[id] = way_of(steps[id]);
</%def>

## Read the codes of `row`, 16 bytes at a time.
<%def name="read_codes(wg_size, words)">\
% for block in range(words // 4):
        const u32x4 block_${block} = codes[(u64)row * ${words // 4} + ${block}];
% endfor
% for word in range(words):
        staged[${word * wg_size} + LOCAL_ID] = block_${word // 4}.${"xyzw"[word % 4]};
% endfor
</%def>

## The row walks `tree`; the value of its leaf is added to its margin.
<%def name="walk()">\
            i32x2 way = ways[tree];
            while (way.x) {
                const u32 bit = (u32)way.x & 0x7FFFFF, code = staged[bit / 32 + LOCAL_ID] >> bit % 32;
                const u32 right = (code << 24) - (u32)way.x < (u32)way.y;
                way = ways[tree + (way.y & 0xFFFFFF) + right];
            }
            margin += as_f32((u32)way.y);
</%def>
