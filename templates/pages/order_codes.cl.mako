## order_codes: codes of the features whose values depend on an order of the rows
## uses: blocks
##
##   replace_codes  replace the codes of a page's last features by those of another order
##   encode_shares  codes of numbers 0..1 in one of the orders
##
##   orders      [order][feature][row]   codes of the last features, one set for each order
##   by_feature  [feature][row]          the page's codes, as the partition reads them
##   codes       blocks of 16 bytes      the same by row, as histograms read them; see PackedCodes
##
## params: wg_size; code, the type of the page's codes; own, the type of the codes in `orders`
<%page args="wg_size, code, own"/>
<% FEW, TOGETHER = 256, 8 %>
<%def name="place()">block_at(feature / block_features, block_stride, paired, ${16 if code == "u8" else 8}) + feature % block_features</%def>
KERNEL(${wg_size}) replace_codes(
        const u32 n_rows, const u32 n_features, const u32 first_feature, const u32 order,
        const u32 block_features, const u64 row_stride, const u64 block_stride, const u32 paired,
        GLOBAL const ${own}* RESTRICT orders, GLOBAL ${code}* RESTRICT codes,
        GLOBAL ${code}* RESTRICT by_feature) {
    const u32 begin = (u32)((u64)n_rows * GROUP_ID / N_GROUPS);
    const u32 end = (u32)((u64)n_rows * (GROUP_ID + 1) / N_GROUPS);
    GLOBAL const ${own}* from = orders + (u64)order * n_features * n_rows;
% if wg_size == 1:
    for (u32 first = begin, last; first < end; first = last) { /* codes of so few rows stay in a first cache */
        last = end - first < ${FEW} ? end : first + ${FEW};
        for (u32 i = 0; i < n_features; i++) {
            GLOBAL const ${own}* given = from + (u64)i * n_rows;
            GLOBAL ${code}* column = by_feature + (u64)(first_feature + i) * n_rows;
            for (u32 row = first; row < last; row++) column[row] = given[row];
        }
        for (u32 i = 0; i < n_features;) { /* several side by side: a row's step and test serve them all */
            const u32 n = n_features - i < ${TOGETHER} ? n_features - i : ${TOGETHER};
            u64 places[${TOGETHER}];
            for (u32 k = 0; k < n; k++) {
                const u32 feature = first_feature + i + k;
                places[k] = ${place()};
            }
            GLOBAL const ${own}* given = from + (u64)i * n_rows;
            if (n == ${TOGETHER}) {
% for k in range(TOGETHER):
                GLOBAL ${code}* codes_${k} = codes + places[${k}];
                GLOBAL const ${own}* given_${k} = given + (u64)${k} * n_rows;
% endfor
                u64 at = first * row_stride;
                PLAIN for (u32 row = first; row < last; row++, at += row_stride) {
% for k in range(TOGETHER):
                    codes_${k}[at] = given_${k}[row];
% endfor
                }
            } else {
                for (u32 k = 0; k < n; k++, given += n_rows) {
                    GLOBAL ${code}* of_row = codes + places[k] + first * row_stride;
                    PLAIN for (u32 row = first; row < last; row++, of_row += row_stride) *of_row = given[row];
                }
            }
            i += n;
        }
    }
% else:
    for (u32 i = 0; i < n_features; i++) {
        const u32 feature = first_feature + i;
        const u64 place = ${place()};
        PLAIN for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size}) {
            const ${code} own_code = from[(u64)i * n_rows + row];
            codes[place + row * row_stride] = own_code;
            by_feature[(u64)feature * n_rows + row] = own_code;
        }
    }
% endif
}

/* Code of each number: how many cuts are at or below it; a missing number has the code n_cuts + 1. */
KERNEL(${wg_size}) encode_shares(
        const u32 first_row, const u32 n_rows, const u64 begin, const u64 first_code, const u32 n_cuts,
        GLOBAL const f32* RESTRICT cuts, GLOBAL const f32* RESTRICT shares, GLOBAL ${own}* RESTRICT codes) {
    PLAIN for (u32 i = GROUP_ID * ${wg_size} + LOCAL_ID; i < n_rows; i += N_GROUPS * ${wg_size}) {
        const f32 share = shares[begin + first_row + i];
        u32 low = 0, high = n_cuts;
        while (low < high) {
            const u32 middle = low + (high - low) / 2;
            if (cuts[middle] <= share) low = middle + 1; else high = middle;
        }
        codes[first_code + i] = (as_u32(share) & 0x7FFFFFFFu) > 0x7F800000u ? n_cuts + 1 : low;
    }
}
