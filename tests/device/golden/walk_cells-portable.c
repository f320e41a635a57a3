





#define BY_CELL 4u

KERNEL(64) walk_cells(
        const u64 n_rows, const u32 n_features, const u32 n_masks, const u32 first_tree, const u32 n_trees,
        const u32 longest, GLOBAL const f32* RESTRICT values, GLOBAL const walk_t* RESTRICT nodes,
        GLOBAL const u32* RESTRICT tree_begin, GLOBAL const u32* RESTRICT masks, GLOBAL f32* RESTRICT margins) {
    const u64 first = ((u64)GROUP_ID * 64 + LOCAL_ID) * 1;
    if (first >= n_rows) return;
    masks += (u64)GROUP_ID_Y * n_masks;
    margins += ((u64)GROUP_ID_Y * n_rows + first) * 32;
    f32 margin_0 = margins[0];
    f32 margin_1 = margins[1];
    f32 margin_2 = margins[2];
    f32 margin_3 = margins[3];
    f32 margin_4 = margins[4];
    f32 margin_5 = margins[5];
    f32 margin_6 = margins[6];
    f32 margin_7 = margins[7];
    f32 margin_8 = margins[8];
    f32 margin_9 = margins[9];
    f32 margin_10 = margins[10];
    f32 margin_11 = margins[11];
    f32 margin_12 = margins[12];
    f32 margin_13 = margins[13];
    f32 margin_14 = margins[14];
    f32 margin_15 = margins[15];
    f32 margin_16 = margins[16];
    f32 margin_17 = margins[17];
    f32 margin_18 = margins[18];
    f32 margin_19 = margins[19];
    f32 margin_20 = margins[20];
    f32 margin_21 = margins[21];
    f32 margin_22 = margins[22];
    f32 margin_23 = margins[23];
    f32 margin_24 = margins[24];
    f32 margin_25 = margins[25];
    f32 margin_26 = margins[26];
    f32 margin_27 = margins[27];
    f32 margin_28 = margins[28];
    f32 margin_29 = margins[29];
    f32 margin_30 = margins[30];
    f32 margin_31 = margins[31];
    GLOBAL const f32* x = values + first * n_features;
    IN_ORDER
    for (u32 tree = first_tree; tree < first_tree + n_trees; tree++) {
        GLOBAL const walk_t* node = nodes + tree_begin[tree];
        u32 waiting = 0xFFFFFFFFu;
        IN_ORDER
        while (waiting) { /* a walk ends with a cell or more, so at most 32 times */
            const u32 first_cell = waiting & (0u - waiting);
            u32 together = waiting;
            GLOBAL const walk_t* at = node;
            for (u32 step_count = 0; at->left && step_count < longest; step_count++) {
                u32 left;
                if (at->default_left & BY_CELL) {
                    const u32 lefts = masks[as_u32(at->number)];
                    left = (lefts & first_cell) != 0;
                    together &= left ? lefts : ~lefts;
                } else {
                    left = value_goes_left(x[at->feature], at->number, at->default_left);
                }
                at = node + at->left + 1 - left;
            }
            const f32 value = at->number;
            margin_0 = together >> 0 & 1 ? margin_0 + value : margin_0;
            margin_1 = together >> 1 & 1 ? margin_1 + value : margin_1;
            margin_2 = together >> 2 & 1 ? margin_2 + value : margin_2;
            margin_3 = together >> 3 & 1 ? margin_3 + value : margin_3;
            margin_4 = together >> 4 & 1 ? margin_4 + value : margin_4;
            margin_5 = together >> 5 & 1 ? margin_5 + value : margin_5;
            margin_6 = together >> 6 & 1 ? margin_6 + value : margin_6;
            margin_7 = together >> 7 & 1 ? margin_7 + value : margin_7;
            margin_8 = together >> 8 & 1 ? margin_8 + value : margin_8;
            margin_9 = together >> 9 & 1 ? margin_9 + value : margin_9;
            margin_10 = together >> 10 & 1 ? margin_10 + value : margin_10;
            margin_11 = together >> 11 & 1 ? margin_11 + value : margin_11;
            margin_12 = together >> 12 & 1 ? margin_12 + value : margin_12;
            margin_13 = together >> 13 & 1 ? margin_13 + value : margin_13;
            margin_14 = together >> 14 & 1 ? margin_14 + value : margin_14;
            margin_15 = together >> 15 & 1 ? margin_15 + value : margin_15;
            margin_16 = together >> 16 & 1 ? margin_16 + value : margin_16;
            margin_17 = together >> 17 & 1 ? margin_17 + value : margin_17;
            margin_18 = together >> 18 & 1 ? margin_18 + value : margin_18;
            margin_19 = together >> 19 & 1 ? margin_19 + value : margin_19;
            margin_20 = together >> 20 & 1 ? margin_20 + value : margin_20;
            margin_21 = together >> 21 & 1 ? margin_21 + value : margin_21;
            margin_22 = together >> 22 & 1 ? margin_22 + value : margin_22;
            margin_23 = together >> 23 & 1 ? margin_23 + value : margin_23;
            margin_24 = together >> 24 & 1 ? margin_24 + value : margin_24;
            margin_25 = together >> 25 & 1 ? margin_25 + value : margin_25;
            margin_26 = together >> 26 & 1 ? margin_26 + value : margin_26;
            margin_27 = together >> 27 & 1 ? margin_27 + value : margin_27;
            margin_28 = together >> 28 & 1 ? margin_28 + value : margin_28;
            margin_29 = together >> 29 & 1 ? margin_29 + value : margin_29;
            margin_30 = together >> 30 & 1 ? margin_30 + value : margin_30;
            margin_31 = together >> 31 & 1 ? margin_31 + value : margin_31;
            waiting &= ~together;
        }
    }
    margins[0] = margin_0;
    margins[1] = margin_1;
    margins[2] = margin_2;
    margins[3] = margin_3;
    margins[4] = margin_4;
    margins[5] = margin_5;
    margins[6] = margin_6;
    margins[7] = margin_7;
    margins[8] = margin_8;
    margins[9] = margin_9;
    margins[10] = margin_10;
    margins[11] = margin_11;
    margins[12] = margin_12;
    margins[13] = margin_13;
    margins[14] = margin_14;
    margins[15] = margin_15;
    margins[16] = margin_16;
    margins[17] = margin_17;
    margins[18] = margin_18;
    margins[19] = margin_19;
    margins[20] = margin_20;
    margins[21] = margin_21;
    margins[22] = margin_22;
    margins[23] = margin_23;
    margins[24] = margin_24;
    margins[25] = margin_25;
    margins[26] = margin_26;
    margins[27] = margin_27;
    margins[28] = margin_28;
    margins[29] = margin_29;
    margins[30] = margin_30;
    margins[31] = margin_31;
}
