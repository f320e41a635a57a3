## joint_codes: one code for several columns of few codes
##
##   by_feature   f0: 4 1 ..|f1: 0 2 ..|f2: 1 1 ..|      columns of 5, 3 and 2 codes
##   joint_codes  25 11 ..                               (4 * 3 + 0) * 2 + 1, ..
##
##   A work-group makes the codes of some rows, column after column, while they are in a first cache.
##
## params: wg_size
<%page args="wg_size"/>
#define RUN ${4096 * wg_size}

KERNEL(${wg_size}) join_codes(
        const u32 n_rows, GLOBAL const u32* RESTRICT members, GLOBAL const u32* RESTRICT member_begin,
        GLOBAL const u32* RESTRICT feature_offset, GLOBAL const u8* RESTRICT by_feature,
        GLOBAL u8* RESTRICT joint_codes) {
    const u32 first = member_begin[GROUP_ID_Y], behind = member_begin[GROUP_ID_Y + 1];
    GLOBAL u8* joint = joint_codes + (u64)GROUP_ID_Y * n_rows;
    for (u32 begin = GROUP_ID * RUN; begin < n_rows; begin += N_GROUPS * RUN) {
        const u32 end = n_rows - begin < RUN ? n_rows : begin + RUN;
        for (u32 member = first; member < behind; member++) {
            const u32 feature = members[member], begins = member == first;
            const u32 n_codes = feature_offset[feature + 1] - feature_offset[feature];
            GLOBAL const u8* column = by_feature + (u64)feature * n_rows;
            if (begins)
                for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size}) joint[row] = column[row];
            else
                for (u32 row = begin + LOCAL_ID; row < end; row += ${wg_size})
                    joint[row] = (u8)(joint[row] * n_codes + column[row]);
        }
    }
}
