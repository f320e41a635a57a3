## pack_codes: blocks[row, block] = 16 bytes with the codes of some features of a row, as `histogram` loads
##             them; clear_sums: sums = 0
## uses: blocks
##
##   codes    a0 a1 a2 b0 b1 b2 ..        row after row, as the caller has them
##   blocks   a0 a1 0.. | b0 b1 0.. | ..  block 0 of all rows    (here with 2 features a block)
##            a2 0 0 .. | b2 0 0 .. | ..  block 1 of all rows; with other strides, next to block 0
##
##   Codes above `last` become `last`, so that no kernel writes outside a feature's accumulators.
##
## params: wg_size; chunk, rows (or sums) of a work-group; code (u8, u16), type of the caller's codes;
##         block, codes in 16 bytes (16 of one byte or 8 of two)
<%page args="wg_size, chunk, code, block"/>
<%
    packed = "u8" if block == 16 else "u16"
    per_word = block // 4
    bits = 32 // per_word
%>
KERNEL(${wg_size}) pack_codes(
        GLOBAL const ${code}* RESTRICT codes, const u32 n_rows, const u32 n_features,
        const u32 last, const u32 block_features, const u32 row_stride, const u32 block_stride,
        const u32 paired, GLOBAL u32x4* RESTRICT blocks) {
    const u32 begin = GROUP_ID * ${chunk};
    const u32 end = n_rows - begin < ${chunk} ? n_rows : begin + ${chunk};
    for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size}) {
        u32 number = 0;
        for (u32 first = 0; first < n_features; first += block_features) {
            const u64 block = (u64)row * row_stride + block_at(number++, block_stride, paired, 1);
            GLOBAL const ${code}* from = codes + (u64)row * n_features + first;
            const u32 left = n_features - first < block_features ? n_features - first : block_features;
% if wg_size == 1:
            GLOBAL ${packed}* to = (GLOBAL ${packed}*)(blocks + block);
            if (left == ${block}) { /* a fixed length, which the compiler vectorises */
                for (u32 k = 0; k < ${block}; ++k)
                    to[k] = (${packed})(from[k] < last ? from[k] : last);
            } else {
                for (u32 k = 0; k < left; ++k)
                    to[k] = (${packed})(from[k] < last ? from[k] : last);
                for (u32 k = left; k < ${block}; ++k) to[k] = 0;
            }
% else:
% for word in range(4):
            u32 word_${word} = 0;
% endfor
% for k in range(block):
            if (${k} < left) {
                const u32 c = from[${k}];
                word_${k // per_word} |= (c < last ? c : last) << ${bits * (k % per_word)};
            }
% endfor
            blocks[block] = MAKE_U32X4(word_0, word_1, word_2, word_3);
% endif
        }
    }
}

KERNEL(${wg_size}) clear_sums(const u32 n, GLOBAL i64x2* RESTRICT sums) {
    const u32 begin = GROUP_ID * ${chunk};
    const u32 end = n - begin < ${chunk} ? n : begin + ${chunk};
    for (u32 i = begin + LOCAL_ID; i < end; i += ${wg_size}) sums[i] = MAKE_I64X2(0, 0);
}
