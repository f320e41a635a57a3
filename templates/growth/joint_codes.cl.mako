## joint_codes: codes of blocks of places by row, one for several columns of few codes
##
##   by_feature   f0: 4 1 ..|f1: 0 2 ..|f2: 1 1 ..|f3: ..|      f0 .. f2: columns of 5, 3 and 2 codes
##   place_codes  row 0: 25 f3 ..|row 1: 11 f3 ..|              (4 * 3 + 0) * 2 + 1, and others as they are
##
##   A work-group makes the codes of some rows of a block, column after column, while they are in a first cache.
##
## params: wg_size; by_row, places of a block
<%page args="wg_size, by_row"/>
#define RUN ${1024 * wg_size}

KERNEL(${wg_size}) join_codes(
        const u32 n_rows, const u32 n_places, GLOBAL const u32* RESTRICT members,
        GLOBAL const u32* RESTRICT member_begin, GLOBAL const u32* RESTRICT feature_offset,
        GLOBAL const u8* RESTRICT by_feature, GLOBAL u8* RESTRICT place_codes) {
    const u32 first = ${by_row} * GROUP_ID_Y, behind = first + ${by_row} < n_places ? first + ${by_row} : n_places;
    GLOBAL u8* block = place_codes + (u64)first * n_rows;
    for (u32 begin = GROUP_ID * RUN; begin < n_rows; begin += N_GROUPS * RUN) {
        const u32 end = n_rows - begin < RUN ? n_rows : begin + RUN;
        for (u32 place = first; place < behind; place++) {
            GLOBAL u8* own = block + (place - first);
            for (u32 member = member_begin[place]; member < member_begin[place + 1]; member++) {
                const u32 feature = members[member], begins = member == member_begin[place];
                const u32 n_codes = feature_offset[feature + 1] - feature_offset[feature];
                GLOBAL const u8* column = by_feature + (u64)feature * n_rows;
                if (begins)
                    for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size}) own[${by_row} * (u64)row] = column[row];
                else
                    for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size})
                        own[${by_row} * (u64)row] = (u8)(own[${by_row} * (u64)row] * n_codes + column[row]);
            }
        }
    }
}
