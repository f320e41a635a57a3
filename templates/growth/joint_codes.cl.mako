## joint_codes: codes of blocks of places by row, one for several columns of few codes
##
##   by_feature   f0: 4 1 ..|f1: 0 2 ..|f2: 1 1 ..|f3: ..|      f0 .. f2: columns of 5, 3 and 2 codes
##   place_codes  row 0: 25 f3 ..|row 1: 11 f3 ..|              (4 * 3 + 0) * 2 + 1, and others as they are
##   terms        f0: 0 6 12 18 24|f1: 0 2 4|f2: 0 1|f3: 0 1 .. what each code adds to the code of its place
##
##   A work-group makes the codes of some rows of a block, column after column, while they are in a first cache.
##
## params: wg_size; by_row, places of a block
<%page args="wg_size, by_row"/>
#define RUN ${1024 * wg_size}

KERNEL(${wg_size}) join_codes(
        const u32 n_rows, const u32 n_places, GLOBAL const u32* RESTRICT members,
        GLOBAL const u32* RESTRICT member_begin, GLOBAL const u32* RESTRICT digit_begin,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const u8* RESTRICT terms,
        GLOBAL const u8* RESTRICT by_feature, GLOBAL u8* RESTRICT place_codes) {
    const u32 first = ${by_row} * GROUP_ID_Y, behind = first + ${by_row} < n_places ? first + ${by_row} : n_places;
    GLOBAL u8* block = place_codes + (u64)first * n_rows;
    for (u32 begin = GROUP_ID * RUN; begin < n_rows; begin += N_GROUPS * RUN) {
        const u32 end = n_rows - begin < RUN ? n_rows : begin + RUN;
        for (u32 k = behind - first; k < ${by_row}; k++) /* padding */
            for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size}) block[${by_row} * (u64)row + k] = 0;
        for (u32 place = first; place < behind; place++) {
            GLOBAL u8* own = block + (place - first);
            const u32 first_member = member_begin[digit_begin[place]], behind_member = member_begin[digit_begin[place + 1]];
            for (u32 member = first_member; member < behind_member; member++) {
                const u32 feature = members[member];
                GLOBAL const u8* column = by_feature + (u64)feature * n_rows;
                GLOBAL const u8* term = terms + feature_offset[feature];
                if (member == first_member)
                    for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size}) own[${by_row} * (u64)row] = term[column[row]];
                else
                    for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size})
                        own[${by_row} * (u64)row] = (u8)(own[${by_row} * (u64)row] + term[column[row]]);
            }
        }
    }
}
