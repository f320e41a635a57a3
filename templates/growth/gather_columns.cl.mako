## gather_columns: copy the codes of the columns that each tree draws to narrow rows, which histograms read
## uses: blocks
##
##   columns     1 4 5                          as `drawn_columns` lists them
##   by_feature  f0: ..|f1: a0 a1 a2 ..|..      all rows of a feature
##   codes       a0 e0 f0 .. | a1 e1 f1 .. |    blocks of a row, see block_order.py; tree after tree
##
##   Eight codes are written at a time. Padding gets codes of the last column.
##
## params: wg_size; code, the codes' type
<%page args="wg_size, code"/>
<%
    block, word, bits, n = (16, "u64", 8, 8) if code == "u8" else (8, "u64", 16, 4)
    run = 256 * wg_size  # rows whose codes stay in a first cache
%>
/* Strides count codes. */
KERNEL(${wg_size}) gather_columns(
        const u32 n_rows, const u32 n_drawn, const u64 copy_codes, const u32 block_features, const u64 row_stride,
        const u64 block_stride, const u32 paired, GLOBAL const u32* RESTRICT columns,
        GLOBAL const ${code}* RESTRICT by_feature, GLOBAL ${code}* RESTRICT codes) {
    GLOBAL const u32* own = columns + GROUP_ID_Y * n_drawn; /* of the tree */
    for (u32 begin = GROUP_ID * ${run}; begin < n_rows; begin += N_GROUPS * ${run}) {
        const u32 end = n_rows - begin < ${run} ? n_rows : begin + ${run};
        for (u32 block = 0; block * block_features < n_drawn; block++) {
            GLOBAL ${code}* to = codes + GROUP_ID_Y * copy_codes + block_at(block, block_stride, paired, ${block});
            for (u32 within = 0; within < block_features; within += ${n}) {
                const u32 place = block * block_features + within, last = n_drawn - 1;
                if (place > last) break;
% for k in range(n):
                GLOBAL const ${code}* column_${k} = by_feature + (u64)own[${f"place + {k} < last ? place + {k} : last" if k else "place"}] * n_rows;
% endfor
                for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size}) {
                    ${word} packed = column_0[row];
% for k in range(1, n):
                    packed |= (${word})column_${k}[row] << ${k * bits};
% endfor
                    *(GLOBAL ${word}*)(to + row * row_stride + within) = packed;
                }
            }
        }
    }
}
