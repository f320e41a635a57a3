## joint_blocks: joint codes of columns, as in `joint_codes`, in the order in which histograms read a row's codes
## uses: blocks
##
##   by_feature   f0: 4 1 ..|f1: 0 2 ..|f2: 1 1 ..|      columns of 5, 3 and 2 codes, which share a place
##   codes        25 . . . | 11 . . . |                  blocks of a row, see packed_codes.py; padding is 0
##
##   Rows may come a piece at a time: `by_feature` has `n_rows`, which go to `first_row` and behind.
##
## params: wg_size
<%page args="wg_size"/>
/* The joint code of a row at a place. */
FN u32 joint_code(const u32 row, const u32 n_rows, const u32 first, const u32 behind,
                  GLOBAL const u32* members, GLOBAL const u32* feature_offset, GLOBAL const u8* by_feature) {
    u32 code = 0;
    for (u32 member = first; member < behind; member++) {
        const u32 feature = members[member];
        const u32 n_codes = feature_offset[feature + 1] - feature_offset[feature];
        code = code * n_codes + by_feature[(u64)feature * n_rows + row];
    }
    return code;
}

/* Strides count blocks. */
KERNEL(${wg_size}) join_blocks(
        const u32 n_rows, const u32 first_row, const u32 n_places, const u32 block_features, const u32 row_stride,
        const u32 block_stride, const u32 paired, GLOBAL const u32* RESTRICT members,
        GLOBAL const u32* RESTRICT member_begin, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u8* RESTRICT by_feature, GLOBAL u32x4* RESTRICT codes) {
    const u32 first = GROUP_ID_Y * block_features;
    const u32 left = first < n_places ? n_places - first : 0;
    const u32 n_own = left < block_features ? left : block_features;
    GLOBAL const u32* begin = member_begin + first;
    GLOBAL u32x4* to = codes + block_at(GROUP_ID_Y, block_stride, paired, 1) + (u64)first_row * row_stride;
    for (u32 row = GROUP_ID * ${wg_size} + LOCAL_ID; row < n_rows; row += N_GROUPS * ${wg_size}) {
% for word in range(4):
        u32 word_${word} = 0;
        for (u32 k = ${4 * word}; k < ${4 * word + 4} && k < n_own; k++)
            word_${word} |= joint_code(row, n_rows, begin[k], begin[k + 1], members, feature_offset, by_feature)
                << 8 * (k & 3);
% endfor
        to[(u64)row * row_stride] = MAKE_U32X4(word_0, word_1, word_2, word_3);
    }
}

/* The same, place after place: all rows of a place, `all_rows`, lie together. */
KERNEL(${wg_size}) join_columns(
        const u32 n_rows, const u32 first_row, const u32 all_rows, const u32 n_places, GLOBAL const u32* RESTRICT members,
        GLOBAL const u32* RESTRICT member_begin, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u8* RESTRICT by_feature, GLOBAL u8* RESTRICT codes) {
    for (u32 place = GROUP_ID_Y; place < n_places; place += N_GROUPS_Y) {
        const u32 first = member_begin[place], behind = member_begin[place + 1];
        for (u32 row = GROUP_ID * ${wg_size} + LOCAL_ID; row < n_rows; row += N_GROUPS * ${wg_size})
            codes[(u64)place * all_rows + first_row + row] =
                (u8)joint_code(row, n_rows, first, behind, members, feature_offset, by_feature);
    }
}
